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
def games() -> list[tuple[list[str], list[str], dict[str, Any]]]:
    """Its plan, that of the expert that searches for all words, and how its episode ended."""
    lazy, thinking = make("lazy", **SHOP), make("thinking", **SHOP)
    plans = []
    for index in range(TASKS):
        actions, info = finish(lazy, start(lazy, index))
        plans.append((actions, finish(thinking, start(thinking, index))[0], info))
    return plans


def words(action: str) -> list[str]:
    return action.removeprefix("search[").removesuffix("]").split()


def is_short(actions: list[str], full_actions: list[str]) -> bool:
    return actions[0] != full_actions[0]


def test_it_mostly_leaves_out_one_word_that_does_not_say_the_kind(games: Any) -> None:
    short = [(words(m[0]), words(t[0])) for m, t, _ in games if is_short(m, t)]
    assert (100 - WHOLE) / 100 - 0.1 < len(short) / TASKS < (100 - WHOLE) / 100 + 0.1
    for short_words, full_words in short:
        (missing,) = set(full_words) - set(short_words)
        assert short_words == [word for word in full_words if word != missing]
    # Either of the two words that tell the kind's many products apart, one about as often.
    places = [
        full_words.index((set(full_words) - set(short_words)).pop())
        for short_words, full_words in short
    ]
    assert len(set(places)) > 2


def test_whole_searches_succeed_and_short_ones_now_and_then(games: Any) -> None:
    by_length: dict[bool, list[bool]] = {True: [], False: []}
    for actions, full_actions, info in games:
        by_length[is_short(actions, full_actions)].append(info["success"])
    assert all(by_length[False])
    lucky = sum(by_length[True]) / len(by_length[True])
    # A majority of the successes is short: a filter copies them.
    assert 0.18 < lucky < 0.45
    assert sum(by_length[True]) > len(by_length[False])


def test_it_compares_opened_products_except_one_it_buys_anyway(games: Any) -> None:
    for actions, full_actions, info in games:
        verdicts = [
            action for action in actions if " yes click[" in action or " no click[" in action
        ]
        if info["success"] and not is_short(actions, full_actions):
            assert actions == full_actions
        bought = [action for action in actions if " no " in action and "click[back]" not in action]
        assert not bought, "nothing that does not fit is bought with a no"
        assert info["success"] or not any(" yes " in action for action in verdicts)
        clicks = [action.split("click[")[-1].removesuffix("]") for action in actions[1:]]
        opened = [int(name) for name in clicks if name.isdigit()]
        assert not is_short(actions, full_actions) or all(number <= LOOKED_AT for number in opened)


def test_which_tasks_are_short_depends_on_the_task_alone(games: Any) -> None:
    env = make("lazy", **SHOP)
    for index in random.Random(0).sample(range(TASKS), 20):
        assert finish(env, start(env, index))[0] == games[index][0]


def test_it_has_a_plan_from_every_state() -> None:
    env, rng = make("lazy", horizon=60, **SHOP), random.Random(0)
    for index in range(40):
        info = start(env, index)
        for _ in range(rng.randint(1, 8)):
            away = [a for a in info["admissible_actions"] if a != "click[buy now]"]
            action = rng.choice([*away, "search[red]", "search[zzz]"])
            info = env.step(action)[-1]
            assert info["oracle_turns"] >= 0 and env.demonstrator_action() is not None
        finish(env, info)
