"""Tasks of worlds that are made from a seed: each task is a seed, and no two splits share one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentgym.core.options import integer
from agentgym.core.tasks import SPLITS, NumberedTasks

SIZES: Mapping[str, int] = {"train": 10_000, "valid": 1_000, "test": 1_000}
"""Tasks of each split, if nothing else is asked for."""
UNSEEDED = (
    "the other project's seed does not fix the task: episodes of one task may differ, so the panel "
    "hash names only how they are made"
)
"""Limit of worlds that ignore the seed."""


class SeededTasks(NumberedTasks[int]):
    """Seeds of a world as tasks; the seeds of the splits are interleaved.

    Args:
        name: Name of the environment, such as ``gem:game:Sudoku-v0``, which begins every id.
        goal: The instruction, which all tasks share.
        facts: What else decides an episode, such as the version of the peer's package; JSON-safe,
            hashed into panels.
        sizes: Tasks of each split; None is `SIZES`.
        seeded: Whether the seed decides the task.
    """

    def __init__(
        self,
        name: str,
        goal: str,
        facts: Mapping[str, Any],
        sizes: Mapping[str, int] | None = None,
        *,
        seeded: bool = True,
    ) -> None:
        super().__init__(name)
        self._goal, self._facts, self._seeded = goal, dict(facts), seeded
        self._sizes = {**SIZES, **(sizes or {})}
        for split, size in self._sizes.items():
            integer(size, f"the number of tasks of {split}", 0, 2**29)

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return self._sizes[self.check(split)]

    def _problem(self, split: str, number: int) -> int:
        return len(SPLITS) * number + SPLITS.index(split)

    def _describe(self, split: str, number: int, problem: int) -> tuple[str, Mapping[str, Any]]:
        content = {**self._facts, "seed": problem}
        return self._goal, content if self._seeded else {**content, "seed_counts": False}
