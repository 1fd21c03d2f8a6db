"""The tasks of BabyAI: levels with seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple

from agentgym.core.options import choice, integer
from agentgym.core.tasks import SPLITS, NumberedTasks
from agentgym.envs.babyai.engine.levels import DIFFICULTIES, check_levels, open_level
from agentgym.envs.babyai.experts.bot import bot_plan
from agentgym.support.caching import BoundedCache
from agentgym.support.random_stream import Stream

SIZES: Mapping[str, int] = {"train": 10_000, "valid": 500, "test": 500}
"""Number of tasks of each split."""
KEPT_PLANS = 4096
"""Maximum number of cached plans of the bot."""


class Mission(NamedTuple):
    """The content of a task."""

    level: str
    """Name of the level."""
    seed: int
    """Seed of minigrid."""


class LevelTasks(NumberedTasks[Mission]):
    """Tasks with a random level each, and seeds that differ between splits.

    Ids have the form ``babyai/<difficulty or level>/<split>/<number>``. Task ``number`` is a level
    with seed ``generator_seed + 3 * number + split``, where the splits are 0, 1 and 2, so no two
    splits share a seed.

    Args:
        name: Name of the set.
        levels: The levels.
        seed: First seed.
    """

    remedy = "make the environment with the levels and the seed that the id names"

    def __init__(self, name: str, levels: Sequence[str], seed: int = 0) -> None:
        super().__init__(name, plan_length=self._length)
        self.levels, self._first = tuple(levels), seed
        self._plans: BoundedCache[Mission, tuple[int, ...] | None] = BoundedCache(KEPT_PLANS)
        self._version = metadata.version("minigrid")

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def plan(self, mission: Mission) -> tuple[int, ...] | None:
        """Return the bot's plan from the start; None if it has none."""
        plan = self._plans.get(mission, ())
        return self._plans.put(mission, bot_plan(*mission)) if plan == () else plan

    def _length(self, mission: Mission) -> int | None:
        plan = self.plan(mission)
        return None if plan is None else len(plan)

    def _problem(self, split: str, number: int) -> Mission:
        seed = self._first + len(SPLITS) * number + SPLITS.index(split)
        # Not in turn: whoever takes every hundredth task would find them all to be of one level.
        return Mission(Stream("babyai", split, number).choice(self.levels), seed)

    def _describe(self, split: str, number: int, problem: Mission) -> tuple[str, Mapping[str, Any]]:
        content = {"task_type": problem.level, "seed": problem.seed, "minigrid": self._version}
        mission = str(open_level(*problem).mission)
        return f"{mission[:1].upper()}{mission[1:]}.", content


def open_tasks(difficulty: str, levels: str | Sequence[str] | None, seed: int) -> LevelTasks:
    """Return the tasks of a difficulty, or of levels; a process has one object for equal arguments.

    Raises:
        ConfigurationError: The difficulty or level does not exist.
        DependencyNotInstalled: minigrid is missing.
    """
    seed = integer(seed, "generator_seed", 0)
    default_levels = DIFFICULTIES[choice(difficulty, "difficulty", DIFFICULTIES)]
    level_names = check_levels(default_levels if levels is None else levels)
    name = difficulty if levels is None else "+".join(level_names)
    return _shared(f"babyai/{name}" + (f"-{seed}" if seed else ""), level_names, seed)


@lru_cache(maxsize=16)
def _shared(name: str, levels: tuple[str, ...], seed: int) -> LevelTasks:
    return LevelTasks(name, levels, seed)
