"""Coin mazes of mixed lengths, for studies that need plans of a chosen length.

``--env benchmarks.coin_mazes:benchmarks/CoinMazes-v0 --env-kwargs levels=1-12`` plays TextWorld's
``coin_collector``, whose level is the length of the shortest plan, alternating between levels.
Without ``told`` the first observation does not describe the way, so that it has to be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from agentgym.core.tasks import Task, whole_number
from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.envs.textworld.games.game_set import GameSet
from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.generator.generate import Game
from agentgym.envs.textworld.tasks import GameTasks
from agentgym.errors import ConfigurationError

ID = "benchmarks/CoinMazes-v0"
UNTOLD = "Find the coin and take it."
"""Goal of a maze without directions."""
ROOM = "-= "
"""Start of the first room's description, after the objective."""


class MazeTasks(GameSet):
    """Coin mazes with alternating levels: task k has the k-th level, cyclically.

    Args:
        first: Lowest level, which is the length of its shortest plan.
        last: Highest level.
        sizes: Number of games by split; those of a level are a part of them.
        tells_way: Whether the goal describes the way.
    """

    def __init__(self, first: int, last: int, sizes: Mapping[str, int], tells_way: bool) -> None:
        super().__init__(f"coin-mazes/{first}-{last}")
        self._sizes, self._tells_way = sizes, tells_way
        levels = last - first + 1
        self._parts = [
            GameTasks(
                GeneratorConfig.of("coin_collector", level=level),
                {split: -(-size // levels) for split, size in sizes.items()},
            )
            for level in range(first, last + 1)
        ]

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return self._sizes[self.check(split)]

    def story(self, task: Task) -> Path:
        """Return the story file of a task, compiled at the first call."""
        part, number = self._part(task.index)
        return part.story(part.task(task.split, number))

    def _part(self, number: int) -> tuple[GameTasks, int]:
        """Return the set of a task's level, and the task's number in it."""
        number, level = divmod(number, len(self._parts))
        return self._parts[level], number

    def _problem(self, split: str, number: int) -> Game:
        part, own_number = self._part(number)
        return part.problem(part.task(split, own_number))

    def _source(self, split: str, number: int) -> dict[str, Any]:
        part, own_number = self._part(number)
        return {"maze": part.task(split, own_number).id, "told": self._tells_way}

    def _describe(self, split: str, number: int, problem: Game) -> tuple[str, Mapping[str, Any]]:
        goal, content = super()._describe(split, number, problem)
        return goal if self._tells_way else UNTOLD, content


class CoinMazes(TextWorldEnv):
    """Find the coin in a maze of TextWorld, of one of several lengths.

    Args:
        levels: Lengths of the shortest plans as ``FIRST-LAST``, from 1 to 100.
        told: Whether the first observation describes the way, as TextWorld's does.
        games: Number of games by split; None: 600, 96 and 192.
        **kwargs: Arguments of :class:`~agentgym.envs.textworld.env.TextWorldEnv`.

    Raises:
        ConfigurationError: The levels are invalid.
    """

    def __init__(
        self,
        levels: str = "1-12",
        *,
        told: bool = False,
        games: Mapping[str, int] | None = None,
        **kwargs: Any,
    ) -> None:
        first, last = (whole_number(part) for part in str(levels).partition("-")[::2])
        if not first or not last or not 1 <= first <= last <= 100:
            raise ConfigurationError(
                f"expected levels as FIRST-LAST from 1 to 100, such as 1-12, got {levels!r:.40}"
            )
        super().__init__(challenge="coin_collector", level=last, **kwargs)
        sizes = {"train": 600, "valid": 96, "test": 192, **(games or {})}
        self.told = told
        self.tasks = self._tasks = MazeTasks(first, last, sizes, told)

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        opening = super()._start(task, rng)
        if self.told:
            return opening
        return f"{UNTOLD}\n\n{opening[opening.index(ROOM) :]}"


gymnasium.register(ID, entry_point="benchmarks.coin_mazes:CoinMazes")
