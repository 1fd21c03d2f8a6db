"""Which tasks a training step plays: a pure function of seed, step and horizon."""

from __future__ import annotations

from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError
from agentgym.tasks import Task, TaskSet

TRIES_PER_TASK = 400


class TaskFeed:
    """Draws tasks for training steps, without state, so that a resumed run needs none.

    Args:
        tasks: The environment's task set.
        split: Split to draw from.
        seed: Seed of the run.
        fit: Draw only tasks whose expert needs no more turns than the step's horizon. A horizon
            that is shorter than every solution of a task teaches to give up on it.
    """

    def __init__(self, tasks: TaskSet, split: str, seed: int, fit: bool) -> None:
        split = tasks.check(split)
        self._tasks, self._split, self._seed, self._fit = tasks, split, seed, fit
        self._size = tasks.len(split)

    def draw(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        """Choose distinct tasks (as long as there are enough) for one step.

        Args:
            step: Training step, from 1.
            count: Number of tasks.
            horizon: Turns that an episode may take at this step.

        Returns:
            ``count`` reset options ``{"task_id": ...}``.

        Raises:
            ConfigurationError: No task fits the horizon.
        """
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([self._seed, step])))
        chosen: dict[str, Task] = {}
        for _ in range(TRIES_PER_TASK * count):
            task = self._tasks.task(self._split, int(rng.integers(self._size)))
            if self._suits(task, horizon):
                chosen.setdefault(task.id, task)
            if len(chosen) == count:
                break
        if not chosen:
            raise ConfigurationError(
                f"expected tasks that the expert solves within {horizon} turns, but found none in "
                f"split {self._split!r} of {self._tasks.name}; start --horizon higher, or pass "
                "--no-fit"
            )
        ids = list(chosen)
        return [{"task_id": ids[k % len(ids)]} for k in range(count)]

    def _suits(self, task: Task, horizon: int) -> bool:
        """Return whether the task may be played at this horizon."""
        if not self._fit:
            return True
        needed = self._tasks.oracle_turns(task)
        return needed is None or needed <= horizon


def knows_oracle_lengths(tasks: TaskSet, split: str) -> bool:
    """Return whether the task set can say how long the expert's plans are."""
    return tasks.oracle_turns(tasks.task(split, 0)) is not None
