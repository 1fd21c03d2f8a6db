from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest

from agentgym.errors import ConfigurationError
from benchmarks.coin_mazes import ID, UNTOLD, CoinMazes


def make(**kwargs: Any) -> CoinMazes:
    env = gym.make(ID, **kwargs).unwrapped
    assert isinstance(env, CoinMazes)
    return env


@pytest.fixture(scope="module")
def env() -> CoinMazes:
    return make(levels="2-4", games={"train": 6, "valid": 3, "test": 3})


@pytest.mark.slow
def test_lengths_take_turns(env: CoinMazes) -> None:
    lengths = [env.tasks.oracle_turns(env.tasks.task("train", k)) for k in range(6)]
    assert lengths == [2, 3, 4, 2, 3, 4]


def test_tasks_are_found_by_their_ids_and_differ(env: CoinMazes) -> None:
    tasks = [env.tasks.task(split, k) for split in ("train", "valid", "test") for k in range(3)]
    assert [env.tasks.find(task.id) for task in tasks] == tasks
    assert len({task.content["sha256"] for task in tasks}) == len(tasks)


def test_the_way_is_told_only_if_asked_for(env: CoinMazes) -> None:
    observation, info = env.reset(options={"split": "test", "index": 2})
    guided_env = make(levels="2-4", told=True)
    opening, _ = guided_env.reset(options={"split": "test", "index": 2})
    assert observation.startswith(f"{UNTOLD}\n\n-= ") and info["goal"] == UNTOLD
    room = observation.removeprefix(UNTOLD).strip()
    assert opening.endswith(room) and "go" in opening.removesuffix(room)
    panels = [maze.tasks.panel("valid", 2).sha256 for maze in (env, guided_env)]
    assert panels[0] != panels[1]


def test_the_expert_takes_the_shortest_way(env: CoinMazes) -> None:
    observation, info = env.reset(options={"split": "valid", "index": 2})
    expert = env.oracle()
    while not info["stop_reason"]:
        observation, _, _, _, info = env.step(expert.act(observation, info))
    assert info["success"] and info["turn"] == 4


@pytest.mark.parametrize("levels", ["0-3", "4-2", "3", "a-b", "1-101"])
def test_levels_that_are_none_are_refused(levels: str) -> None:
    with pytest.raises(ConfigurationError, match="levels"):
        make(levels=levels)
