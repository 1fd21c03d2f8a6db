"""The lazy reader: how it searches, and what that costs."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import pytest

from agentgym.envs.search.env import SearchEnv
from agentgym.envs.search.experts.lazy import WHOLE

CORPUS: dict[str, Any] = {"difficulty": "easy", "size": 4000, "topk": 5, "hops": [1, 2]}
TASKS = 120


def make(expert: str, **kwargs: Any) -> SearchEnv:
    env = gymnasium.make(
        "agentgym/Search-v0", expert=expert, horizon=4, **{**CORPUS, **kwargs}
    ).unwrapped
    assert isinstance(env, SearchEnv)
    return env


def play_expert(env: SearchEnv, index: int) -> tuple[list[str], dict[str, Any]]:
    """Let the expert play; what it announces has to come true."""
    _, info = env.reset(seed=0, options={"split": "test", "index": index})
    announced, actions = info["oracle_turns"], list[str]()
    while not info["stop_reason"]:
        assert info["oracle_turns"] == announced - len(actions)
        actions.append(str(env.demonstrator_action()))
        info = env.step(actions[-1])[-1]
        assert info["action_valid"]
    return actions, info


def test_it_mostly_begins_with_half_a_name_and_then_reads_on() -> None:
    lazy, reader = make("lazy"), make("reader")
    short, won = 0, {True: list[bool](), False: list[bool]()}
    for index in range(TASKS):
        actions, info = play_expert(lazy, index)
        reading, _ = play_expert(reader, index)
        won[actions[0] == reading[0]].append(info["success"])
        if actions[0] != reading[0]:
            short += 1
            missing = set(reading[0].split()) - set(actions[0].split())
            assert len(_words(reading[0])) - len(_words(actions[0])) == 1, (missing, actions[0])
        if info["success"] and actions[0] != reading[0]:
            assert actions[1:] == reading[1:]  # What it found was what it was to look for.
        assert len(actions) == len(reading)
    assert short / TASKS == pytest.approx(1 - WHOLE / 100, abs=0.1)
    assert all(won[True])
    assert 0.25 < sum(won[False]) / len(won[False]) < 0.55


def _words(action: str) -> list[str]:
    return re.findall(r"\w+", action)


def test_it_continues_from_a_state_reached_by_another_policy() -> None:
    env = make("lazy")
    for index in range(20):
        env.reset(seed=0, options={"split": "test", "index": index, "horizon": 6})
        info = env.step("<search>the mayor of nowhere</search>")[-1]
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[-1]
            assert info["action_valid"]


@pytest.mark.parametrize("difficulty", ["medium", "hard"])
def test_it_plays_other_encyclopaedias_to_the_end(difficulty: str) -> None:
    env = make("lazy", difficulty=difficulty, size=400, hops=None, topk=3)
    for index in range(20):
        _, info = env.reset(seed=0, options={"split": "test", "index": index, "horizon": 8})
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[-1]
            assert info["action_valid"]
