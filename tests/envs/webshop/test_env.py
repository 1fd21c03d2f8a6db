"""The environment: configurations, grammars, copies, caches."""

from __future__ import annotations

import copy
import gzip
import io
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentgym  # noqa: F401
from agentgym.cli import main
from agentgym.envs.webshop import official
from agentgym.envs.webshop.catalogue import generate
from agentgym.envs.webshop.catalogue.write import write
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.tasks import listed_tasks
from agentgym.envs.webshop.world import World
from agentgym.errors import ConfigurationError, DataError
from tests.envs.webshop.conftest import INSTRUCTIONS, ITEMS

SMALL = {"size": 60, "difficulty": "easy"}


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    (tmp_path / "items_shuffle_1000.json").write_text(json.dumps(ITEMS))
    (tmp_path / "items_ins_v2_1000.json").write_text(json.dumps(INSTRUCTIONS))
    return tmp_path


@pytest.mark.parametrize("mode", ["text", "text_rich", "compact"])
@pytest.mark.parametrize("grammar", ["native", "xml", "react", "tool_call"])
def test_the_expert_solves_every_mode_and_grammar(mode: str, grammar: str) -> None:
    env: Any = gymnasium.make(
        "agentgym/WebShop-v0", observation_mode=mode, grammar=grammar, **SMALL
    )
    for index in range(3):
        _, info = env.reset(options={"split": "test", "index": index})
        left, done = info["oracle_turns"], False
        assert left == env.unwrapped.tasks.oracle_turns(env.unwrapped.task)
        while not done:
            assert info["oracle_turns"] == left
            _, reward, done, _, info = env.step(env.unwrapped.oracle().act("", info))
            left -= 1
        assert reward == 1.0 and info["success"] and info["oracle_turns"] == 0 == left
        assert info["details"]["reward"] == 1.0


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_the_original_grammar_is_kept(mode: str) -> None:
    env = WebShopEnv(observation_mode=mode, max_turns=99, **SMALL)
    first, _ = env.reset(seed=0)
    for action in (" search[shirt]", "Search[shirt]", "search[]", "search [x]", "think[x]", "",
                   "search[a [b]]", "\nsearch[x]", "click[search]", "b\u00fcy [x]"):  # fmt: skip
        observation, _, _, _, info = env.step(action)
        assert observation == first and not info["action_valid"], action
    observation, _, _, _, info = env.step("search[shirt]] x")
    assert observation != first and info["action_valid"]


def test_admissible_actions_are_valid() -> None:
    for mode in ("text", "compact"):
        env = WebShopEnv(observation_mode=mode, max_turns=200, **SMALL)
        _, info = env.reset(seed=1)
        for turn in range(60):
            if not info["admissible_actions"]:
                break
            actions = info["admissible_actions"]
            action = actions[(7 * turn + 1) % len(actions)]
            if action == "click[buy now]":
                action = actions[0]
            _, _, _, _, info = env.step(action)
            assert info["action_valid"], action


def test_copies_go_on_where_the_original_stands() -> None:
    env = WebShopEnv(observation_mode="compact", **SMALL)
    _, info = env.reset(seed=2)
    info = env.step(env.oracle().act("", info))[4]
    for clone in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert clone.world is env.world and clone.session is not env.session
        assert clone.session.state == env.session.state
        assert clone.step("click[1]")[0] == copy.deepcopy(env).step("click[1]")[0]
    assert len(pickle.dumps(env)) < 8000


def test_snapshots_restore_options_and_rewards() -> None:
    env = WebShopEnv(**SMALL)
    env.reset(seed=3)
    while env._oracle_turns() != 1:
        action = env.oracle_action()
        assert action is not None
        env.step(action)
    saved = pickle.loads(pickle.dumps(env.snapshot()))
    first = env.step("click[buy now]")
    env.restore(saved)
    again = env.step("click[buy now]")
    assert first[:4] == again[:4] and first[4]["state_key"] == again[4]["state_key"]


def test_the_potential_is_the_reward_if_bought_now() -> None:
    env = WebShopEnv(**SMALL)
    env.reset(seed=4)
    assert env._potential() == 0.0
    while env._oracle_turns() != 1:
        action = env.oracle_action()
        assert action is not None
        env.step(action)
    assert env._potential() == env.step("click[buy now]")[1] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observation_mode": "html"}, "text, text_rich, compact"),
        ({"results_per_page": 5}, "results_per_page"),
        ({"observation_mode": "compact", "results_per_page": 0}, "from 1 to 50"),
        ({"reward": "dense"}, "official, strict, sparse"),
        ({"goal_mode": "x"}, "goal_mode"),
        ({"split_mode": "official-index"}, "goal_mode='official'"),
        ({"human_goals": True}, "data_dir"),
        ({"num_products": 0}, "num_products"),
        ({"num_products": 30}, "data_dir"),
        ({"world": object()}, "world and tasks together"),
        ({"size": 1}, "size"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        WebShopEnv(**arguments)


def test_official_files(data_dir: Path) -> None:
    env = WebShopEnv(data_dir=str(data_dir), observation_mode="compact")
    assert len(env.world.products) == 24
    _, info = env.reset(seed=0)
    done = False
    while not done:
        _, reward, done, _, info = env.step(env.oracle().act("", info))
    assert reward == 1.0
    full = WebShopEnv(data_dir=str(data_dir), goal_mode="official", num_products=20)
    assert len(full.world.products) == 20 and len(full.world.goals) == 77
    with pytest.raises(DataError, match="items_human_ins"):
        WebShopEnv(data_dir=str(data_dir), goal_mode="official", human_goals=True)
    with pytest.raises(DataError, match="items_shuffle"):
        official.locate(data_dir / "nowhere")


def test_given_worlds_travel_whole(world: World) -> None:
    env = WebShopEnv(world=world, tasks=listed_tasks("tiny", world.goals))
    env.reset(seed=0)
    env.step("search[lamps]")
    clone = pickle.loads(pickle.dumps(env))
    assert clone.step("click[next >]")[:4] == env.step("click[next >]")[:4]


def test_nouns_can_be_injected(tmp_path: Path) -> None:
    shop = generate(40, "easy", 5)
    write(shop, tmp_path)
    asin, other = shop.asin(0), shop.asin(1)
    table = {asin: ["zebra", "stripes"]}
    plain, packed = tmp_path / "nouns.json", tmp_path / "nouns_by_asin.json.gz"
    plain.write_text(json.dumps(table))
    packed.write_bytes(gzip.compress(json.dumps({"note": "x", "nouns": table}).encode()))

    def make(nouns: Any) -> WebShopEnv:
        made = gymnasium.make("agentgym/WebShop-v0", data_dir=str(tmp_path), nouns=nouns).unwrapped
        assert isinstance(made, WebShopEnv)
        return made

    envs = [make(nouns) for nouns in (table, str(plain), packed)]
    assert len({id(env.world) for env in envs}) == 1
    builtin = make(None).world
    assert (
        envs[0].world.products[asin].nouns == ("zebra", "stripes") != builtin.products[asin].nouns
    )
    assert envs[0].world.products[other].nouns == builtin.products[other].nouns
    envs[0].reset(seed=0)
    assert pickle.loads(pickle.dumps(envs[0])).world is envs[0].world
    assert make({asin: ["lion"]}).world.products[asin].nouns == ("lion",)
    generated = WebShopEnv(nouns={"unknown": ["x"]}, **SMALL)  # type: ignore[arg-type]
    assert generated.world is not WebShopEnv(**SMALL).world
    with pytest.raises(DataError, match="JSON file"):
        make("missing.json")


def test_a_person_plays_with_pages_of_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for settings, expected in (((), "[button]"), (("--set", "observation_mode=text"), "[SEP]")):
        monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
        assert main(["play", "webshop", "--set", "size=60", *settings]) == 0
        assert expected in capsys.readouterr().out
