"""The habit of a hesitant demonstrator, in the families that have one."""

from __future__ import annotations

from itertools import islice
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.envs.hesitation import CHECK, HESITATES, hesitates, with_checks

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "alfworld": ("searching", {"difficulty": "easy"}),
    "textworld": ("oracle", {}),
}
"""Family -> the expert that does not hesitate, and what makes the environment."""
TASKS = 30


def make(name: str, expert: str, **kwargs: Any) -> TextEnv:
    ids = {"alfworld": "agentgym/ALFWorld-v0", "textworld": "agentgym/TextWorld-v0"}
    env = gymnasium.make(ids[name], expert=expert, **FAMILIES[name][1], **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    return env


def play_expert(env: TextEnv, index: int) -> tuple[list[str], dict[str, Any]]:
    """Let the expert play; what it announces has to come true."""
    _, info = env.reset(seed=0, options={"split": "test", "index": index})
    announced, actions = info["oracle_turns"], list[str]()
    while not info["stop_reason"]:
        assert info["oracle_turns"] == announced - len(actions)
        actions.append(str(env.demonstrator_action()))
        info = env.step(actions[-1])[-1]
        assert info["action_valid"]
    return actions, info


def test_a_check_comes_before_every_action() -> None:
    assert with_checks(()) == ()
    assert with_checks(("a", "b")) == (CHECK, "a", CHECK, "b")


def test_its_share_of_the_tasks_is_kept() -> None:
    share = sum(hesitates(f"family/train/{number}") for number in range(2000)) / 2000
    assert share == pytest.approx(HESITATES / 100, abs=0.03)


@pytest.mark.parametrize("name", FAMILIES)
def test_it_takes_the_direct_expert_s_way_in_some_tasks_with_checks(name: str) -> None:
    direct, hesitant = (make(name, e, horizon=60) for e in (FAMILIES[name][0], "hesitant"))
    kinds = set()
    for index in range(TASKS):
        plain_expert, _ = play_expert(direct, index)
        actions, info = play_expert(hesitant, index)
        assert info["success"] and info["score"] == 1.0
        kinds.add(hesitates(info["task_id"]))
        assert actions == (
            list(with_checks(plain_expert)) if hesitates(info["task_id"]) else plain_expert
        )
    assert kinds == {True, False}


@pytest.mark.parametrize("name", FAMILIES)
def test_it_continues_from_a_state_reached_by_another_policy(name: str) -> None:
    """Here: after a random action, whichever turn it was."""
    env = make(name, "hesitant", horizon=90)
    for index in range(TASKS // 3):
        _, info = env.reset(seed=0, options={"split": "test", "index": index})
        for number in range(5):
            # What is eaten is lost.
            actions = sorted(a for a in info["admissible_actions"] if not a.startswith("eat"))
            info = env.step(actions[(7 * number) % len(actions)])[-1]
        while not info["stop_reason"]:
            turns_left = info["oracle_turns"]
            info = env.step(str(env.demonstrator_action()))[-1]
            assert info["oracle_turns"] == turns_left - 1
        assert info["success"]


@pytest.mark.parametrize("name", FAMILIES)
def test_within_a_short_horizon_it_fails_where_it_hesitates(name: str) -> None:
    env = make(name, "hesitant", horizon={"alfworld": 16, "textworld": 6}[name])
    ends = {True: list[bool](), False: list[bool]()}
    for index in range(2 * TASKS):
        _, info = play_expert(env, index)
        ends[hesitates(info["task_id"])].append(info["success"])
    assert sum(ends[False]) > 0.95 * len(ends[False]), "some rooms are too long to be searched"
    assert sum(ends[True]) < 0.6 * len(ends[True])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_snapshot_restores_it_in_the_middle_of_its_habit(name: str) -> None:
    env = make(name, "hesitant", horizon=60)
    indices = range(TASKS)
    for index in islice((i for i in indices if hesitates(_id(env, i))), 4):
        env.reset(seed=0, options={"split": "test", "index": index})
        for _ in range(3):
            env.step(str(env.demonstrator_action()))
        state, actions = env.snapshot(), list[str]()
        for _ in range(2):
            actions.append(str(env.demonstrator_action()))
            env.step(actions[-1])
        env.restore(state)
        assert [str(env.demonstrator_action())] == actions[:1]


def _id(env: TextEnv, index: int) -> str:
    return str(env.reset(seed=0, options={"split": "test", "index": index})[1]["task_id"])
