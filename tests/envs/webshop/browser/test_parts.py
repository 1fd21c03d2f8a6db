"""Parts hold every character of a page, whatever the mode, the grammar and the catalogue."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.envs.webshop.browser import page_parts
from agentgym.envs.webshop.browser.page_parts import other_names
from agentgym.registration.making import make_env
from tests.envs.webshop.browser.shops import SMALL
from tests.envs.webshop.conftest import shared_data

MODES = ("text", "text_rich", "compact")


def env_of(**kwargs: Any) -> Any:
    options = kwargs if "data" in kwargs else {**SMALL, **kwargs}
    return make_env("agentgym/WebShop-v0", {"horizon": 30, **options}, "--env-kwargs")


def page_text(env: Any) -> str:
    return "".join(part.full_text for part in page_parts(env))


def wander(env: Any, episodes: int) -> int:
    """Walk about at random, and compare each observation with the parts; return the longest."""
    draw, longest = random.Random(0), 0
    for seed in range(episodes):
        observation, info = env.reset(seed=seed)
        while True:
            page = page_text(env)
            longest = max(longest, len(page))
            if observation != page:
                notice = observation.removesuffix(f"\n{page}")
                short = notice in ("results", "item") or notice.startswith("chosen ")
                assert short or notice != observation, (observation[:300], page[:300])
            names = {part.name for part in page_parts(env)} | set(other_names(env, []))
            for action in info["admissible_actions"] if env.language.native else ():
                assert action.startswith("search[") or action[6:-1] in names, action
            if info["stop_reason"]:
                break
            action = draw.choice(info["admissible_actions"] or ["x"])
            if draw.random() < 0.2:
                words = draw.choice(["shoes", "zzzz", "premium usb hub"])
                action = env.language.write(draw.choice([f"search[{words}]", "click[nothing]"]))
            observation, _, _, _, info = env.step(action)
    return longest


@pytest.mark.parametrize("grammar", ["native", "tool_call"])
@pytest.mark.parametrize("mode", MODES[:2])
def test_pages_of_the_generated_shop(mode: str, grammar: str) -> None:
    wander(env_of(observation_mode=mode, grammar=grammar, show_score=True), 12)


def test_compact_pages_with_highlights() -> None:
    env = env_of(observation_mode="compact", highlights=True, difficulty="medium")
    draw, pages = random.Random(1), set()
    for seed in range(12):
        observation, info = env.reset(seed=seed)
        while not info["stop_reason"]:
            if observation == page_text(env):
                pages.add(env.session.state.page)
            else:
                assert observation in ("results", "item") or observation.startswith("chosen ")
            observation, _, _, _, info = env.step(draw.choice(info["admissible_actions"]))
        pages.add(env.session.state.page if observation == page_text(env) else "")
    assert {"index", "results", "item", "sub", "done"} <= pages


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[:2])
def test_pages_of_the_official_data(mode: str) -> None:
    folder = shared_data("webshop") / "catalogue"
    wander(env_of(observation_mode=mode, data=str(folder)), 12)


@pytest.mark.parametrize("mode", MODES[:2])
def test_hostile_pages_are_whole_and_long_ones_cut_alike(mode: str, hostile_dir: Path) -> None:
    env = env_of(observation_mode=mode, data=str(hostile_dir))
    wander(env, 12)
    env.reset(seed=0)
    env.step("search[shoes]")
    cut = 0
    for page, name in itertools.product(range(2), ("b000000007", "b000000004")):
        env.reset(seed=0)
        env.step("search[shoes]")
        for _ in range(page):
            env.step("click[next >]")
        if not env.step(f"click[{name}]")[4]["action_valid"]:
            continue
        observation = env.step("click[features]")[0]
        assert observation == page_text(env)
        if len(observation) == OBSERVATION_LENGTH:
            last = page_parts(env)[-1]
            assert last.text.endswith("characters cut]") and last.name is None
            cut += 1
    assert cut == 1


def test_every_option_is_marked_as_it_is() -> None:
    env = env_of(observation_mode="text_rich")
    for index in range(40):
        env.reset(options={"split": "test", "index": index})
        env.step(f"search[{env.task.goal[:40]}]")
        env.step(f"click[{env.session.hits()[0].lower()}]")
        options = env.session.product.options
        if options:
            break
    group, values = next(iter(options.items()))
    env.step(f"click[{values[-1]}]")
    parts = page_parts(env)
    selected = [part for part in parts if part.kind == "option" and part.chosen]
    assert [part.text for part in selected] == [values[-1]]
    assert selected[0].before == "  [clicked button] " and selected[0].name == values[-1]
    assert parts[0].kind == "note" and values[-1] in parts[0].text
    assert [part.text for part in parts if part.box == selected[0].box] == [group, *values]


def test_what_no_action_can_name_cannot_be_clicked(hostile_dir: Path) -> None:
    env = env_of(observation_mode="text", data=str(hostile_dir))
    env.reset(seed=0)
    env.step("search[shoes]")
    env.step("click[b000000001]")
    options = {part.text: part.name for part in page_parts(env) if part.kind == "option"}
    assert options["navy"] == "navy" and options["b"] == "b"
    assert options["description"] is None, "its name opens another page"
    assert [name for text, name in options.items() if text.startswith("[")] == [None]
