"""The tasks of a training step: a pure function of seed, step and horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np

from agentgym.core.outcome import StopReason
from agentgym.core.tasks import Task, TaskSet
from agentgym.errors import ConfigurationError
from trainers.algorithms.sampling import SamplerMaker, TaskStats, UniformSampler
from trainers.algorithms.schedule import PerFamily
from trainers.rollouts.trajectory import Trajectory, by_family

__all__ = [
    "FAMILY",
    "LearningTaskSource",
    "MixedTasks",
    "RefillingTaskSource",
    "TaskSource",
    "TrainingTasks",
    "further_tasks",
    "knows_oracle_lengths",
]

FAMILY = "family"
"""Key of a task's family; the runner uses it to choose environments and does not pass it on."""

TRIES_PER_TASK = 400
"""Maximum tasks that are looked at for each that is wanted: few may fit the horizon."""


class TaskSource(Protocol):
    """Choose the tasks of training steps."""

    def __call__(self, step: int, count: int, horizon: int) -> Sequence[Mapping[str, Any]]:
        """Reset options of ``count`` tasks for a step (from 1), the same on every process."""
        ...


@runtime_checkable
class LearningTaskSource(Protocol):
    """A task source that learns from results; choosing does not change its state."""

    def learn(self, episodes: Sequence[Trajectory]) -> None:
        """Learn from the episodes of a step, those of all processes."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """JSON-safe state."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        ...


@runtime_checkable
class RefillingTaskSource(Protocol):
    """A task source with replacements for tasks whose groups have no learning signal."""

    def further(
        self, step: int, count: int, horizon: int
    ) -> Mapping[str, Iterator[Mapping[str, Any]]]:
        """Reset options of the tasks that follow the ``count`` of a step, by family, without end.

        The key of the only family is empty. Results learned after the call do not change them, so
        they may be drawn while a later step is planned.
        """
        ...


class TrainingTasks:
    """The tasks of a split as a sampler orders them, without those that do not fit the horizon.

    Its state is the returns so far, for samplers that use them.
    """

    def __init__(
        self,
        tasks: TaskSet,
        split: str,
        seed: int,
        fit: bool,
        sampler: SamplerMaker = UniformSampler,
        turns: Callable[[int | None], int | None] = lambda plan: plan,
    ) -> None:
        """Choose where tasks come from.

        Args:
            tasks: The environment's task set.
            split: Split to draw from.
            seed: Seed of the run.
            fit: Draw only tasks whose expert needs no more turns than the step's horizon. A horizon
                shorter than every solution of a task teaches the policy to give up.
            sampler: Makes the sampler from the number of tasks in the split.
            turns: Maps the length of a plan to the turns that it takes; more with workers.
        """
        split = tasks.check(split)
        self._tasks, self._split, self._fit = tasks, split, fit
        self._sampler, self._turns = sampler(tasks.len(split), seed), turns
        self._stats = TaskStats.empty(tasks.len(split))

    def __call__(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        """Choose distinct tasks (as long as there are enough) for one step (from 1).

        Returns:
            ``count`` reset options ``{"task_id": ...}``.

        Raises:
            ConfigurationError: No task fits the horizon.
        """
        return list(islice(self._drawn(self._sampler(step, self._stats), count, horizon), count))

    def further(self, step: int, count: int, horizon: int) -> dict[str, Iterator[dict[str, Any]]]:
        """Yield the tasks that follow those of a step; see ``RefillingTaskSource``."""
        order = self._sampler(step, self._stats)
        return {"": islice(self._drawn(order, count, horizon), count, None)}

    def _drawn(self, order: Iterator[int], count: int, horizon: int) -> Iterator[dict[str, Any]]:
        """Yield distinct tasks that fit, endlessly; they repeat once exhausted."""
        task_ids: dict[str, None] = {}
        looked = islice(order, TRIES_PER_TASK * count)
        place = 0
        while True:
            for index in looked:
                task = self._tasks.task(self._split, index)
                if task.id not in task_ids and self._fits(task, horizon):
                    task_ids[task.id] = None
                    break
            if not task_ids:
                raise ConfigurationError(
                    f"expected tasks that the expert solves within {horizon} turns, but found none "
                    f"in split {self._split!r} of {self._tasks.name}; start --horizon higher, or "
                    "pass --no-fit-horizon"
                )
            ids = list(task_ids)
            # Too few fit: repeat them, because a step must have its planned number of groups.
            yield {"task_id": ids[place % len(ids)]}
            place += 1
            if place >= count:
                looked = islice(order, TRIES_PER_TASK)

    def learn(self, episodes: Sequence[Trajectory]) -> None:
        """Learn from the returns of a step, without episodes of failed environments."""
        failed = StopReason.ERROR.value
        sound = [
            episode for episode in episodes if episode.task_id and episode.stop_reason != failed
        ]
        numbers = [self._tasks.find(episode.task_id).index for episode in sound]
        returns = np.array([episode.episode_return for episode in sound])
        solved = np.array([episode.success for episode in sound], dtype=bool)
        self._stats = self._stats.update(np.array(numbers, dtype=np.int64), returns, solved)

    def state_dict(self) -> dict[str, Any]:
        """Return the returns seen so far."""
        return self._stats.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        self._stats = self._stats.restored(state)

    def _fits(self, task: Task, horizon: int) -> bool:
        """Return whether the task may be played at this horizon."""
        if not self._fit:
            return True
        needed = self._turns(self._tasks.oracle_turns(task))
        return needed is None or needed <= horizon


class MixedTasks:
    """The tasks of several families, by their weights, each with the turns of its family.

    Families alternate so that at any time each has had its share, up to less tasks than there are
    families. A group of episodes plays one task, so no group straddles families. Its state is that
    of its sources.
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

    def further(self, step: int, count: int, horizon: int) -> dict[str, Iterator[dict[str, Any]]]:
        """Yield the tasks that follow those of a step; see ``RefillingTaskSource``."""
        turns = self._schedule.values(step)
        families = self._families((step - 1) * count, step * count)

        def of(name: str) -> Iterator[dict[str, Any]]:
            (tasks,) = further_tasks(
                self._sources[name], step, families.count(name), turns[name]
            ).values()
            return ({**task, FAMILY: name, "horizon": turns[name]} for task in tasks)

        return {name: of(name) for name in dict.fromkeys(families)}

    @property
    def _learning(self) -> dict[str, LearningTaskSource]:
        """The sources that learn from results."""
        sources = self._sources.items()
        return {name: source for name, source in sources if isinstance(source, LearningTaskSource)}

    def learn(self, episodes: Sequence[Trajectory]) -> None:
        """Pass each source the episodes of its family."""
        parts = by_family(episodes)
        for name, source in self._learning.items():
            source.learn(parts.get(name, []))

    def state_dict(self) -> dict[str, Any]:
        """Return the state of each source."""
        return {name: source.state_dict() for name, source in self._learning.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what ``state_dict`` returned."""
        for name, source in self._learning.items():
            source.load_state_dict(state[name])

    def _families(self, begin: int, end: int) -> list[str]:
        """Return the families of a range of the endless order of tasks."""
        while len(self._order) < end:
            # The family with the largest credit gets the next task, which costs one.
            for name, share in self._shares.items():
                self._due[name] += share
            family = max(self._due, key=self._due.__getitem__)  # Ties go to the first.
            self._due[family] -= 1.0
            self._order.append(family)
        return self._order[begin:end]


def further_tasks(
    source: TaskSource, step: int, count: int, horizon: int
) -> Mapping[str, Iterator[Mapping[str, Any]]]:
    """Return the tasks that follow those of a step; see ``RefillingTaskSource``.

    Raises:
        ConfigurationError: The source has none.
    """
    if not isinstance(source, RefillingTaskSource):
        raise ConfigurationError(
            "expected a task source with the method `further` of trainers.rollouts.task_feed."
            "RefillingTaskSource, because groups without a learning signal are replaced; got "
            f"{source!r}"
        )
    return source.further(step, count, horizon)


def knows_oracle_lengths(tasks: TaskSet, split: str) -> bool:
    """Return whether the task set can say how long the expert's plans are."""
    return tasks.oracle_turns(tasks.task(split, 0)) is not None
