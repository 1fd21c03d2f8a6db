"""The talks that SkyRL and verl-agent step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agentgym.episodes.task_reference import TaskReference
from agentgym.interop.skyrl import SkyRLEpisode
from agentgym.interop.verl_agent import VerlAgentManager
from tests.conformance.episodes import HORIZON, IDS, Turn, digest, native_episodes


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_episodes_are_those_of_gymnasium(env_id: str) -> None:
    """The bare prompt shows observations alone, and why an action was invalid."""
    expected, tasks = native_episodes(env_id)
    envs = VerlAgentManager(
        env_id, tasks=1, split="test", num_tasks=1, prompt="bare", horizon=HORIZON
    )
    skyrl: list[list[Turn]] = []
    verl: list[list[Turn]] = []
    for episode, task_id in zip(expected, tasks, strict=True):
        row = {"agentgym": TaskReference(env_id, task_id, {"horizon": HORIZON}, "bare").to_cell()}
        observations, _ = envs.reset([{"task_id": task_id}])
        verl.append([(observations["anchor"][0], 0.0, False)])
        with SkyRLEpisode(extras=row) as env:
            opening = env.init([])[0][-1]["content"]
            skyrl.append([(_match_observation(opening, episode.turns[0]), 0.0, False)])
            for action, right in zip(episode.actions, episode.turns[1:], strict=True):
                turn: Any = env.step(action)
                text = right[0] if turn["done"] else turn["observations"][0]["content"]
                skyrl[-1].append((_match_observation(text, right), turn["reward"], turn["done"]))
                observations, rewards, is_done, _ = envs.step([action])
                reward = right[1] if rewards[0] == np.float32(right[1]) else float(rewards[0])
                verl[-1].append((observations["anchor"][0], reward, bool(is_done[0])))
    right_digest = digest([episode.turns for episode in expected])
    assert digest(skyrl) == right_digest
    assert digest(verl) == right_digest
    envs.close()


def _match_observation(text: str, right: Turn) -> str:
    """Return the observation if the text begins with it; a reason may stand behind it."""
    return right[0] if text.startswith(right[0]) else text
