"""Which tasks a training step plays: a pure function of seed, step and horizon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from agentgym.core.tasks import Task, TaskSet
from agentgym.errors import ConfigurationError
from trainers.algorithms.sampling import TaskSampler, TaskStats, UniformSampler
from trainers.algorithms.schedule import PerFamily

__all__ = ["FAMILY", "MixedTasks", "TaskSource", "TrainingTasks", "knows_oracle_lengths"]

FAMILY = "family"
"""Key that names the family of a task among several; it tells the runner which environments can
play it, and does not reach them."""

TRIES_PER_TASK = 400
"""Most tasks that are looked at for each that is wanted: few may fit the horizon."""


class TaskSource(Protocol):
    """Choose the tasks of training steps."""

    def __call__(self, step: int, count: int, horizon: int) -> Sequence[Mapping[str, Any]]:
        """Reset options of ``count`` tasks for a step (from 1), the same on every process."""
        ...


class TrainingTasks:
    """The tasks of a split as a sampler orders them, without those that do not fit the horizon.

    It has no state of its own, so that a resumed run needs none.

    Attributes:
        stats: Returns seen so far, for samplers that look at them; kept up to date by whoever
            gave such a sampler.
    """

    def __init__(
        self,
        tasks: TaskSet,
        split: str,
        seed: int,
        fit: bool,
        sampler: TaskSampler | None = None,
    ) -> None:
        """Choose where tasks come from.

        Args:
            tasks: The environment's task set.
            split: Split to draw from.
            seed: Seed of the run.
            fit: Draw only tasks whose expert needs no more turns than the step's horizon. A
                horizon that is shorter than every solution of a task teaches to give up on it.
            sampler: Orders the tasks, by their number in the split; default: uniformly at random.
        """
        split = tasks.check(split)
        self.stats: TaskStats | None = None
        self._tasks, self._split, self._fit = tasks, split, fit
        self._sampler = sampler or UniformSampler(tasks.len(split), seed)

    def draw(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        """Choose distinct tasks (as long as there are enough) for one step (from 1).

        Returns:
            ``count`` reset options ``{"task_id": ...}``.

        Raises:
            ConfigurationError: No task fits the horizon.
        """
        chosen: dict[str, Task] = {}
        for index in islice(self._sampler(step, self.stats), TRIES_PER_TASK * count):
            task = self._tasks.task(self._split, index)
            if self._fits(task, horizon):
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

    def _fits(self, task: Task, horizon: int) -> bool:
        """Return whether the task may be played at this horizon."""
        if not self._fit:
            return True
        needed = self._tasks.oracle_turns(task)
        return needed is None or needed <= horizon


class MixedTasks:
    """The tasks of several families, by their weights, each with the turns of its family.

    Families take turns such that at all times each has had its share, to within fewer tasks than
    there are families. A group of episodes plays one task, so no group straddles families. Like its
    sources it has no state of its own.
    """

    def __init__(
        self,
        sources: Mapping[str, TaskSource],
        weights: Mapping[str, float],
        schedule: PerFamily,
    ) -> None:
        """Choose where tasks come from.

        Args:
            sources: Task source of each family.
            weights: Share of each family, relative to the others.
            schedule: Turn budgets.
        """
        self._sources, self._schedule = sources, schedule
        total = sum(weights.values())
        self._shares = {name: weights[name] / total for name in sources}
        self._order: list[str] = []
        self._due = dict.fromkeys(sources, 0.0)

    def __call__(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        """Choose the tasks of a step; see ``TaskSource``. The turns are those of the schedule."""
        turns = self._schedule.values(step)
        families = self._families((step - 1) * count, step * count)
        drawn = {
            name: iter(self._sources[name](step, families.count(name), turns[name]))
            for name in dict.fromkeys(families)
        }
        return [{**next(drawn[name]), FAMILY: name, "horizon": turns[name]} for name in families]

    def _families(self, begin: int, end: int) -> list[str]:
        """Return the families of a part of the endless order of tasks."""
        while len(self._order) < end:
            for name, share in self._shares.items():
                self._due[name] += share
            chosen = max(self._due, key=self._due.__getitem__)  # Of equals the first.
            self._due[chosen] -= 1.0
            self._order.append(chosen)
        return self._order[begin:end]


def knows_oracle_lengths(tasks: TaskSet, split: str) -> bool:
    """Return whether the task set can say how long the expert's plans are."""
    return tasks.oracle_turns(tasks.task(split, 0)) is not None
