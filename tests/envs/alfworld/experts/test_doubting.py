"""The expert that looks twice: its habit, where it has it, and what the habit costs."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.envs.alfworld.env import ALFWorldEnv
from agentgym.envs.alfworld.experts.doubting import DOUBTS

HOUSE: dict[str, Any] = {"difficulty": "easy", "task_types": ["place"]}
TASKS = 80


def make(expert: str, horizon: int = 40) -> ALFWorldEnv:
    env = gymnasium.make("agentgym/ALFWorld-v0", expert=expert, horizon=horizon, **HOUSE).unwrapped
    assert isinstance(env, ALFWorldEnv)
    return env


def play_expert(env: ALFWorldEnv, index: int) -> tuple[list[str], dict[str, Any]]:
    """Let the expert play; what it announces has to come true."""
    _, info = env.reset(seed=0, options={"split": "test", "index": index})
    announced, actions = info["oracle_turns"], list[str]()
    while not info["stop_reason"]:
        assert info["oracle_turns"] == announced - len(actions)
        actions.append(str(env.demonstrator_action()))
        info = env.step(actions[-1])[-1]
        assert info["action_valid"]
    return actions, info


def doubled(actions: list[str]) -> list[str]:
    """Return what the expert does who looks twice wherever the other comes."""
    doubled_actions = []
    for action in actions:
        doubled_actions.append(action)
        if action.startswith("go to "):
            doubled_actions.append(action.replace("go to", "examine"))
    return doubled_actions


def test_it_follows_the_searching_expert_and_mostly_looks_twice() -> None:
    searching, doubting, twice = make("searching"), make("doubting"), 0
    for index in range(TASKS):
        plain_expert, _ = play_expert(searching, index)
        actions, info = play_expert(doubting, index)
        assert info["success"]
        assert actions in (plain_expert, doubled(plain_expert))
        twice += actions != plain_expert
    assert twice / TASKS == pytest.approx(DOUBTS / 100, abs=0.1)


def test_looking_twice_often_succeeds_by_luck_and_much_less_often_than_looking_once() -> None:
    once, twice = make("searching", 11), make("doubting", 11)
    won = [0, 0]
    for index in range(TASKS):
        ending = play_expert(twice, index)
        if any(action.startswith("examine") for action in ending[0]):
            won[0] += play_expert(once, index)[1]["success"]
            won[1] += ending[1]["success"]
    doubted = DOUBTS / 100 * TASKS
    assert won[0] > 0.85 * doubted
    assert 0.3 * doubted < won[1] < 0.6 * doubted


def test_a_second_look_skipped_by_another_policy_is_not_caught_up() -> None:
    env = make("doubting")
    for index in range(8):
        _, info = env.reset(seed=0, options={"split": "test", "index": index})
        first = str(env.demonstrator_action())
        info = env.step(first)[-1]
        if str(env.demonstrator_action()).startswith("examine"):
            info = env.step("look")[-1]
        while not info["stop_reason"]:
            turns_left = info["oracle_turns"]
            info = env.step(str(env.demonstrator_action()))[-1]
            assert info["oracle_turns"] == turns_left - 1
        assert info["success"]
