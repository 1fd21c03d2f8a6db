"""Commands: what a text means, in every grammar, and what is answered to one that means nothing."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.actions import GRAMMARS
from agentgym.core.tasks import Task, TaskList
from agentgym.envs.webshop.engine import commands
from agentgym.envs.webshop.engine.goals import ShopGoal, official_goals
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.shared_shop import OBSERVATION_MODES
from agentgym.envs.webshop.tasks import listed_tasks
from tests.envs.webshop.conftest import INSTRUCTIONS, make_item, shared_data

SMALL: dict[str, Any] = {"size": 60, "difficulty": "easy"}
FORGIVING = [(mode, grammar) for mode in OBSERVATION_MODES for grammar in GRAMMARS
             if mode == "compact" or grammar not in ("native", "action_tag")]  # fmt: skip


@given(st.text("[]a\n search", max_size=14) | st.text(max_size=8))
def test_the_originals_grammar_is_its_regular_expression(text: str) -> None:
    parsed = re.match(r"(.+)\[(.+)\]", text)
    expected = None if parsed is None else (parsed[1], parsed[2].lower())
    assert commands.official(text) == expected


@pytest.mark.parametrize("text", ["[" * 2_000_000, "search[" * 300_000, "[]" * 1_000_000 + "["])
def test_long_rows_of_brackets_take_no_time_to_speak_of(text: str) -> None:
    """With a regular expression that backtracks, this test would not end."""
    command = commands.official(text)
    assert command is None or command.name == text[: text.rfind("[", 0, text.rfind("]") - 1)]


ODD = ["8.4 ounce  |  250 ml", "8.4 ounce | 250 ml", " | x", "cm\u00a0(25.5\u2033)", "a\u2028b",
       "\u0130stanbul", "back", "next", "buy now", "a[b]", "c]", "</click>", "<think>", "x" * 2000,
       "a\tb", "l\nm", "\\u0020", "<tool_call>", '"', "{x}", "Action: click[x]",
       "> 5 <"]  # fmt: skip


def odd_shop(values: list[str], **kwargs: Any) -> WebShopEnv:
    """Make a shop of one product that offers these values."""
    group = [{"value": value} for value in values]
    shop = Shop.build(
        [make_item(0, customization_options={"Color": group})],
        INSTRUCTIONS, lambda item: ("shoes",), goals=official_goals(INSTRUCTIONS, None),
    )  # fmt: skip
    tasks = [
        Task(f"odd/{number}", "train", number, goal.instruction_text, goal.to_content())
        for number, goal in enumerate(shop.goals)
    ]
    return WebShopEnv(world=shop, tasks=TaskList("odd", {"train": tasks}), horizon=99, **kwargs)


def check_actions(env: WebShopEnv) -> None:
    """Take every admissible action of an item page; it must be read as itself and do its own."""
    env.reset(options={"index": 0})
    env.step(env.language.write("search[running shoes]"))
    first = "1" if env.observation_mode == "compact" else "b000000000"
    info = env.step(env.language.write(f"click[{first}]"))[4]
    product, page = env.session.product, env.snapshot()
    actions = info["admissible_actions"]
    assert {env.language.read(action).native for action in actions} == set(env._admissible())
    assert len(set(actions)) == len(actions)
    values = []
    for action in actions:
        info = env.step(action)[4]
        assert info["action_valid"], action
        values += env.session.options.values()
        env.restore(page)
    assert sorted(values) == sorted(product.choosable)


@pytest.mark.parametrize("mode", OBSERVATION_MODES)
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_odd_values_can_be_clicked_in_every_grammar(mode: str, grammar: str) -> None:
    env = odd_shop(ODD, observation_mode=mode, grammar=grammar)
    check_actions(env)
    assert {"8.4 ounce  |  250 ml", "8.4 ounce | 250 ml"} <= set(env.shop.products[
        "B000000000"].choosable)  # fmt: skip
    solved = 0
    for task in env.tasks.iterate("train"):
        _, info = env.reset(options={"index": task.index})
        while not info["stop_reason"]:
            info = env.step(env.demonstrator().act("", info))[4]
        goal = ShopGoal.from_content(task.content)
        assert info["success"] or not env.shop.solvable(env.session.product, goal)
        solved += info["success"]
    assert solved >= 10


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=4), st.sampled_from(OBSERVATION_MODES),
       st.sampled_from(GRAMMARS))  # fmt: skip
def test_any_values_can_be_clicked_in_every_grammar(
    values: list[str], mode: str, grammar: str
) -> None:
    check_actions(odd_shop(values, observation_mode=mode, grammar=grammar))


@cache
def official() -> Shop:
    return WebShopEnv(data=shared_data("webshop") / "catalogue").shop


@pytest.mark.parametrize("mode", ["text", "compact"])
@pytest.mark.parametrize("grammar", GRAMMARS)
def test_official_values_can_be_clicked_in_every_grammar(mode: str, grammar: str) -> None:
    shop, odd = official(), 0
    env = WebShopEnv(
        world=shop, tasks=listed_tasks("x", shop.goals), observation_mode=mode, grammar=grammar
    )
    for item in shop.products.values():
        assert set(item.choosable) == set(item.group_of), "all that is offered can be chosen"
        odd += any(commands.one_line(value) != value for value in item.choosable)
        for name in item.admissible:
            command = env._read_command(
                env.language.read(env.language.write(f"click[{name}]")).native
            )
            assert command == ("click", name)
    assert odd == 5


def test_white_space_is_forgiven_where_the_original_is_not_kept() -> None:
    for mode, grammar in FORGIVING:
        env = odd_shop(["two  spaces", "x"], observation_mode=mode, grammar=grammar)
        env.reset(options={"index": 0})
        for action in ("search[running shoes]", "click[1]", "click[b000000000]"):
            env.step(env.language.write(action))
        info = env.step(env.language.write("click[ Two spaces]"))[4]
        assert info["action_valid"] and env.session.options == {"color": "two  spaces"}


@pytest.mark.parametrize(("mode", "grammar"), FORGIVING)
def test_what_does_nothing_is_answered_with_the_reason(mode: str, grammar: str) -> None:
    env = WebShopEnv(observation_mode=mode, grammar=grammar, **SMALL)
    env.reset(seed=0)
    write = env.language.write
    answers = []
    for action in (write("click[buy now]"), "hello", write("search[ ]"), write("search[shirt]"),
                   write("click[no such thing]")):  # fmt: skip
        page = env._page()
        observation, _, _, _, info = env.step(action)
        if info["action_valid"]:
            continue
        answers.append(observation)
        assert observation.startswith("invalid: ")
        if env.language.read(action).problem:
            continue  # no family sees what is no action of the grammar
        assert observation.startswith(info["details"]["reason"])
        assert mode == "compact" or observation.endswith(f"\n{page}")
    assert len(answers) == 4 and "search first" in answers[0] and "no such thing" in answers[3]


@pytest.mark.parametrize("grammar", ["native", "action_tag"])
@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_where_the_original_is_kept_the_reason_stands_in_the_details(
    mode: str, grammar: str
) -> None:
    env = WebShopEnv(observation_mode=mode, grammar=grammar, **SMALL)
    form = "{}" if grammar == "native" else "<think>so</think>\n<action>{}</action>"
    page, info = env.reset(seed=0)
    assert info["details"] == {}
    for action, reason in (("click[buy now]", "search first"), ("buy", "write search[{query}]"),
                           ("think[x]", "write search[{query}]")):  # fmt: skip
        observation, _, _, _, info = env.step(form.format(action))
        assert observation == page and reason in info["details"]["reason"]
    env.step(form.format("search[shirt]"))
    wrong_click = form.format("click[no such thing]")
    assert "no such thing" in env.step(wrong_click)[4]["details"]["reason"]
    assert env.step(form.format("click[next >]"))[4]["details"] == {}


def test_what_the_compact_mode_does_not_show_cannot_be_clicked() -> None:
    env = WebShopEnv(observation_mode="compact", **SMALL)
    env.reset(seed=0)
    env.step("search[shirt]")
    key = env.step("click[back to search]") and env.step("search[shirt]")[4]["state_key"]
    for asin in env.session.hits():
        observation, _, _, _, info = env.step(f"click[{asin}]")
        assert observation == f"invalid: no {asin.lower()} here" and info["state_key"] == key
    for action in ("click[5]", "click[0]", "click[buy now]", "click[description]"):
        assert not env.step(action)[4]["action_valid"]
    assert env.step("click[4]")[4]["action_valid"]
