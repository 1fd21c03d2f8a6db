from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.episodes import Recorder, read_episodes, replay
from tests.contract.conftest import TURNS, Make, recorded, share, short
from tests.contract.playing import admissible_action, play, random_action


@pytest.fixture(autouse=True, scope="module")
def grades() -> None:
    """Grade a submission anew, which has to come to the same."""


@pytest.mark.parametrize("choose", [random_action, admissible_action])
def test_two_instances_agree(make: Make, env_id: str, choose: Any) -> None:
    repeated = play(make(**short(env_id)), choose, share(env_id, TURNS))
    assert recorded(env_id, choose).log == repeated


def test_an_instance_repeats_itself(env: TextEnv, env_id: str) -> None:
    turns = share(env_id, 15)
    first = play(env, admissible_action, turns)
    play(env, random_action, 5, seed=99)
    assert play(env, admissible_action, turns) == first


def test_different_seeds_draw_different_tasks(env: TextEnv, env_id: str) -> None:
    seeds = share(env_id, 20)
    assert len({env.reset(seed=seed)[1]["task_id"] for seed in range(seeds)}) > seeds / 4


def halfway(env: TextEnv) -> tuple[random.Random, dict[str, Any]]:
    """Bring an environment into the middle of an episode."""
    rng = random.Random(1)
    _, info = env.reset(seed=11)
    for _ in range(2):
        _, _, terminated, truncated, info = env.step(admissible_action(rng, env, info))
        assert not terminated and not truncated
    return rng, info


def go_on(env: TextEnv, rng: random.Random, info: dict[str, Any]) -> list[Any]:
    """Play to the end of the episode, then one more seedless episode."""
    log: list[Any] = []
    for _ in range(2):
        is_done = False
        while not is_done and len(log) < 40:
            result = env.step(admissible_action(rng, env, info))
            log.append(copy.deepcopy(result))
            is_done, info = result[2] or result[3], result[4]
        if not is_done:
            return log
        log.append(copy.deepcopy(env.reset()))
        info = log[-1][1]
    return log


COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_goes_on_like_the_original(env: TextEnv, how: str) -> None:
    rng, info = halfway(env)
    twin = COPIES[how](env)
    later = copy.deepcopy(rng)
    assert go_on(twin, later, copy.deepcopy(info)) == go_on(env, rng, info)


def test_a_snapshot_goes_on_like_the_original(make: Make) -> None:
    env = make()
    rng, info = halfway(env)
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    later, latest = copy.deepcopy(rng), copy.deepcopy(info)
    expected = go_on(env, rng, info)
    for copied in (env, make()):
        copied.restore(snapshot)
        assert go_on(copied, copy.deepcopy(later), copy.deepcopy(latest)) == expected


def test_an_ended_episode_can_be_left_by_a_snapshot(env: TextEnv) -> None:
    halfway(env)
    snapshot = env.snapshot()
    env.reset(options={"horizon": 1})
    env.step("no such action")
    env.restore(snapshot)
    assert env.step("no such action")[4]["turn"] == 3


@pytest.mark.parametrize("choose", [random_action, admissible_action])
def test_episodes_replay_exactly(env_id: str, tmp_path: Path, choose: Any) -> None:
    path = tmp_path / "episodes.jsonl"
    recorder = Recorder(gymnasium.make(env_id, **short(env_id)), path)
    rng = random.Random(2)
    for seed, options in ((0, {}), (None, {"horizon": 6}), (1, {"split": "test", "index": 3})):
        _, info = recorder.reset(seed=seed, options=options)
        is_done = False
        while not is_done:
            action = choose(rng, recorder.unwrapped, info)
            _, _, terminated, truncated, info = recorder.step(action)
            is_done = terminated or truncated
    recorder.close()
    episodes = list(read_episodes(path))
    assert len(episodes) == 3
    for episode in episodes:
        report = replay(episode)
        assert report.equal and report.turns == len(episode.turns), report.difference
