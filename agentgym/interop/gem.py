"""``gem:ID``: games, mathematics and questions of GEM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentgym.core.tasks import Task
from agentgym.errors import require
from agentgym.interop.global_randomness import GlobalRandomness
from agentgym.interop.imported_env import ImportedEnv, share
from agentgym.interop.request import ImportRequest
from agentgym.interop.seeded_tasks import SeededTasks
from agentgym.interop.world import World, WorldTurn

HORIZON = 100
"""Turn budget; most of GEM's games end themselves before it."""


def make(reference: str, *, sizes: Mapping[str, int] | None = None, **options: Any) -> ImportedEnv:
    """Make an environment of GEM.

    Args:
        reference: Its id, such as ``game:GuessTheNumber-v0-easy``.
        sizes: Tasks of each split.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`, and of the
            environment.

    Raises:
        DependencyNotInstalled: GEM is missing.
        ConfigurationError: There is no such id, or it cannot be made here, such as one whose data
            has to be fetched.
    """
    env_options, peer_options = share(options)
    request = ImportRequest("gem", reference, peer_options)
    request.check(names())
    randomness = GlobalRandomness()
    with request.opening(), randomness.in_place():
        env = require("gem", "gem").make(reference, **peer_options)
    goal = f"Play {reference.rpartition(':')[2]}."
    tasks = SeededTasks(request.name, goal, request.facts("gem-llm"), sizes)
    return ImportedEnv(GemWorld(env, randomness), tasks, **{"horizon": HORIZON, **env_options})


def names() -> list[str]:
    """Return the ids.

    Raises:
        DependencyNotInstalled: GEM is missing.
    """
    require("gem", "gem")
    return sorted(require("gem.envs.registration", "gem").ENV_REGISTRY)


class GemWorld(World):
    """An environment of GEM.

    Args:
        env: The environment.
        randomness: Its random numbers; GEM draws from the global generators.
    """

    def __init__(self, env: Any, randomness: GlobalRandomness) -> None:
        self._env, self._randomness = env, randomness

    def reset(self, task: Task, seed: int) -> str:
        """Begin the task of its seed."""
        number = int(task.content["seed"])
        self._randomness.seed(number)
        with self._randomness.in_place():
            observation: str = self._env.reset(seed=number)[0]
        return observation

    def step(self, text: str) -> WorldTurn:
        """Pass the text on."""
        with self._randomness.in_place():
            observation, reward, terminated, truncated, info = self._env.step(text)
        # Its own environments set both at every end.
        done, truncated = bool(terminated), bool(truncated)
        if (
            not (done or truncated)
            and isinstance(info, Mapping)
            and isinstance(info.get("suffix"), str)
        ):
            observation = f"{observation}\n{info['suffix']}"
        # Costs of earlier turns do not make a task unsolved: what its last turn pays tells.
        success = done and reward >= 1
        return WorldTurn(observation, reward, done, truncated, success=bool(success))
