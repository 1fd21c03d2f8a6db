"""Episodes that every door has to play alike, and the hash by which that is told."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.core.env import TextEnv
from agentgym.registration import FAMILIES
from agentgym.support.caching import write_atomically

IDS = tuple(entry.id for entry in FAMILIES)
MANY = 100
SLOW = {"agentgym/SWE-v0": 2, "agentgym/Shell-v0": 12, "agentgym/MathPython-v0": 24}
"""Tasks that are played of families that take long, unless `ASKED`; of others `MANY`."""
ASKED = os.environ.get("AGENTGYM_CONFORMANCE_TASKS", "")
"""Tasks that are played of every family, such as ``100``, or ``25:100`` for the last 75 of them;
``benchmarks/conformance.py`` asks for more."""
KEPT = os.environ.get("AGENTGYM_CONFORMANCE_EPISODES", "")
"""Folder of what Gymnasium showed, for all doors of a run of ``benchmarks/conformance.py``."""
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


def indices(env_id: str) -> range:
    """Return which tasks of an environment are played."""
    first, _, stop = ASKED.rpartition(":")
    return range(int(first or 0), int(stop) if stop else SLOW.get(env_id, MANY))


def bare(env_id: str, grammar: str = "native") -> TextEnv:
    """Make an environment without wrappers."""
    env = gymnasium.make(env_id, grammar=grammar).unwrapped
    assert isinstance(env, TextEnv)
    return env


def episodes(env: TextEnv, env_id: str, hostile: Sequence[str] = HOSTILE) -> list[Episode]:
    """Play tasks through Gymnasium: the expert, random actions, and hostile text before the expert.

    Args:
        env: The environment.
        env_id: Its id.
        hostile: Hostile texts in its grammar.

    Returns:
        The episodes; those that `KEPT` has of an earlier door are not played again.
    """
    if not KEPT:
        return list(_play_episodes(env, env_id, hostile))
    # What a box shows depends on its Python and pytest.
    key = json.dumps(
        [sys.version, pytest.__version__, env_id, env.language.grammar, ASKED, *hostile]
    )
    file = Path(KEPT, f"{hashlib.sha256(key.encode()).hexdigest()}.json")
    if not file.exists():
        rows = [[e.index, e.actions, e.turns] for e in _play_episodes(env, env_id, hostile)]
        write_atomically(file, json.dumps(rows).encode())
    return [
        Episode(
            index, tuple(actions), tuple((text, reward, is_done) for text, reward, is_done in turns)
        )
        for index, actions, turns in json.loads(file.read_bytes())
    ]


def _play_episodes(env: TextEnv, env_id: str, hostile: Sequence[str]) -> Iterator[Episode]:
    """Play the episodes of `episodes`."""
    for index in indices(env_id):
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
    env = bare(env_id)
    native = episodes(env, env_id)
    ids = [env.tasks.task("test", episode.index).id for episode in native]
    env.close()
    return native, ids


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
    other_turns = [
        [(text, float(reward).hex(), is_done) for text, reward, is_done in episode]
        for episode in turns
    ]
    return hashlib.sha256(json.dumps(other_turns).encode()).hexdigest()
