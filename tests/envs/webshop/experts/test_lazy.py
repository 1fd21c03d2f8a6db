"""The expert that searches with a word too few: what it leaves out, and what comes of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agentgym.envs.webshop.experts.lazy import LOOKED_AT, WHOLE
from tests.envs.webshop.experts.test_hasty import finish, make, start

SHOP = {"size": 2000}
TASKS = 150


@pytest.fixture(scope="module")
def played() -> list[tuple[list[str], list[str], dict[str, Any]]]:
    """Its plan, that of the expert that searches for all words, and how its episode ended."""
    lazy, thinking = make("lazy", **SHOP), make("thinking", **SHOP)
    plans = []
    for index in range(TASKS):
        mine, info = finish(lazy, start(lazy, index))
        plans.append((mine, finish(thinking, start(thinking, index))[0], info))
    return plans


def words(action: str) -> list[str]:
    return action.removeprefix("search[").removesuffix("]").split()


def is_short(mine: list[str], theirs: list[str]) -> bool:
    return mine[0] != theirs[0]


def test_it_mostly_leaves_out_one_word_that_does_not_say_the_kind(played: Any) -> None:
    short = [(words(m[0]), words(t[0])) for m, t, _ in played if is_short(m, t)]
    assert (100 - WHOLE) / 100 - 0.1 < len(short) / TASKS < (100 - WHOLE) / 100 + 0.1
    for mine, theirs in short:
        (missing,) = set(theirs) - set(mine)
        assert mine == [word for word in theirs if word != missing]
    # Either of the two words that tell the kind's many products apart, one about as often.
    places = [theirs.index((set(theirs) - set(mine)).pop()) for mine, theirs in short]
    assert len(set(places)) > 2


def test_whole_searches_succeed_and_short_ones_now_and_then(played: Any) -> None:
    by_length: dict[bool, list[bool]] = {True: [], False: []}
    for mine, theirs, info in played:
        by_length[is_short(mine, theirs)].append(info["success"])
    assert all(by_length[False])
    lucky = sum(by_length[True]) / len(by_length[True])
    # A majority of the successes is short: a filter copies them.
    assert 0.18 < lucky < 0.45
    assert sum(by_length[True]) > len(by_length[False])


def test_it_compares_what_it_opens_but_for_what_it_buys_all_the_same(played: Any) -> None:
    for mine, theirs, info in played:
        said = [action for action in mine if " yes click[" in action or " no click[" in action]
        if info["success"] and not is_short(mine, theirs):
            assert mine == theirs
        bought = [action for action in mine if " no " in action and "click[back]" not in action]
        assert not bought, "nothing that does not fit is bought with a no"
        assert info["success"] or not any(" yes " in action for action in said)
        clicks = [action.split("click[")[-1].removesuffix("]") for action in mine[1:]]
        opened = [int(name) for name in clicks if name.isdigit()]
        assert not is_short(mine, theirs) or all(number <= LOOKED_AT for number in opened)


def test_which_tasks_are_short_depends_on_the_task_alone(played: Any) -> None:
    again = make("lazy", **SHOP)
    for index in random.Random(0).sample(range(TASKS), 20):
        assert finish(again, start(again, index))[0] == played[index][0]


def test_it_has_a_plan_from_every_state() -> None:
    env, rng = make("lazy", horizon=60, **SHOP), random.Random(0)
    for index in range(40):
        info = start(env, index)
        for _ in range(rng.randint(1, 8)):
            away = [a for a in info["admissible_actions"] if a != "click[buy now]"]
            action = rng.choice([*away, "search[red]", "search[zzz]"])
            info = env.step(action)[-1]
            assert info["oracle_turns"] is not None and env.demonstrator_action() is not None
        finish(env, info)
