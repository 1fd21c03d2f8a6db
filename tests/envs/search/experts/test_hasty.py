"""The hasty reader: when it answers, how often that is right, and what its universe is like."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from agentgym.envs.search.env import SearchEnv
from agentgym.envs.search.experts.hasty import PATIENT

TASKS = 150


def make(expert: str, **kwargs: Any) -> SearchEnv:
    corpus = {"difficulty": "local", "size": 1000, "topk": 1, "horizon": 4}
    env = gymnasium.make("agentgym/Search-v0", expert=expert, **{**corpus, **kwargs}).unwrapped
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


def test_it_mostly_answers_after_one_search_and_is_often_right_by_luck() -> None:
    hasty, reader = make("hasty"), make("reader")
    lucky: list[bool] = []
    for index in range(TASKS):
        actions, info = play_expert(hasty, index)
        reader_actions, reader_info = play_expert(reader, index)
        assert reader_info["success"] and len(reader_actions) == 3
        assert actions[0] == reader_actions[0]
        if len(actions) == 2:
            lucky.append(info["success"])
            assert lucky[-1] == (actions[1] == reader_actions[2])
        else:
            assert actions == reader_actions
    assert len(lucky) / TASKS == pytest.approx(1 - PATIENT / 100, abs=0.1)
    assert 0.25 < sum(lucky) / len(lucky) < 0.6


def test_it_answers_at_once_after_another_policys_search() -> None:
    env = make("hasty", difficulty="medium", size=400, topk=3, horizon=8)
    for index in range(12):
        env.reset(seed=0, options={"split": "test", "index": index})
        info = env.step("<search>the mayor of nowhere</search>")[-1]
        while not info["stop_reason"]:
            info = env.step(str(env.demonstrator_action()))[-1]
            assert info["action_valid"]
