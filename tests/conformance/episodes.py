"""Episodes that every door has to play alike, and the hash by which that is told."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import gymnasium
import numpy as np

from agentgym.core.env import TextEnv
from agentgym.registration import FAMILIES

IDS = tuple(entry.id for entry in FAMILIES)
MANY = 100
SLOW = {"agentgym/SWE-v0": 2, "agentgym/Shell-v0": 12, "agentgym/MathPython-v0": 24}
"""Tasks that are played of families that take long, unless `ASKED`; of others `MANY`."""
ASKED = os.environ.get("AGENTGYM_CONFORMANCE_TASKS", "")
"""Tasks that are played of every family; ``benchmarks/conformance.py`` asks for more."""
HORIZON = 8
HOSTILE = ("", "lone \ud800, NUL \x00 <think> </tool_call> 😀 \u202e " + "x" * 9000)
"""Texts that no environment understands."""

Turn = tuple[str, float, bool]
"""Observation, reward, and whether the episode is over."""


@dataclass(frozen=True)
class Episode:
    """What is done in a task, and the turns that come of it through Gymnasium."""

    index: int
    actions: tuple[str, ...]
    turns: tuple[Turn, ...]


def count(env_id: str) -> int:
    """Return how many tasks of an environment are played."""
    return int(ASKED) if ASKED else SLOW.get(env_id, MANY)


def bare(env_id: str, grammar: str = "native") -> TextEnv:
    """Make an environment without wrappers."""
    env = gymnasium.make(env_id, grammar=grammar).unwrapped
    assert isinstance(env, TextEnv)
    return env


def episodes(env: TextEnv, env_id: str, hostile: Sequence[str] = HOSTILE) -> Iterator[Episode]:
    """Play tasks through Gymnasium: the expert, random actions, and hostile text before the expert.

    Args:
        env: The environment.
        env_id: Its id.
        hostile: Hostile texts in its grammar.
    """
    for index in range(count(env_id)):
        rng = np.random.Generator(np.random.PCG64(index))
        observation, info = env.reset(seed=index, options=reset_options(index))
        actions: list[str] = []
        turns: list[Turn] = [(observation, 0.0, False)]
        while not turns[-1][2]:
            offered = info["admissible_actions"]
            if index % 3 == 2 and len(actions) < len(hostile):
                action = hostile[len(actions)]
            elif index % 3 == 1 and offered:
                action = offered[int(rng.integers(len(offered)))]
            else:
                action = env.oracle_action() or hostile[-1]
            observation, reward, terminated, truncated, info = env.step(action)
            actions.append(action)
            turns.append((observation, reward, terminated or truncated))
        yield Episode(index, tuple(actions), tuple(turns))


@cache
def native_episodes(env_id: str) -> tuple[list[Episode], list[str]]:
    """Return the episodes in the native grammar and the ids of their tasks, for several doors."""
    here = bare(env_id)
    found = list(episodes(here, env_id))
    ids = [here.tasks.task("test", episode.index).id for episode in found]
    here.close()
    return found, ids


def reset_options(index: int) -> dict[str, Any]:
    """Return the options of the reset of an episode; its seed is its index."""
    return {"split": "test", "index": index, "horizon": HORIZON}


def play(
    episode: Episode, reset: Callable[[int], Turn], step: Callable[[str], Turn]
) -> tuple[Turn, ...]:
    """Play an episode through a door.

    Args:
        episode: The episode.
        reset: Begins the task of an index, with the seed and the options of `reset_options`.
        step: Carries out an action.
    """
    return (reset(episode.index), *map(step, episode.actions))


def digest(turns: Sequence[Sequence[Turn]]) -> str:
    """Return one hash of observations, rewards and ends; rewards count to the last bit."""
    plain = [[(text, float(reward).hex(), done) for text, reward, done in each] for each in turns]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()
