"""Task samplers: which tasks come next.

Samplers are pure functions of (seed, step) and of the returns so far, so a resumed run draws the
same tasks. ``trainers.rollouts.task_feed`` turns their numbers into tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from trainers.algorithms.schedule import check_step
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, sums

_EQUAL = 1e-8
"""Standard deviation up to which returns count as equal."""


@dataclass(frozen=True, eq=False)
class TaskStats:
    """Returns seen so far of each task."""

    count: FloatArray
    """(n_tasks,) returns seen."""
    mean: FloatArray
    """(n_tasks,) mean return; 0 before the first."""
    spread: FloatArray
    """(n_tasks,) sum of squared deviations from the mean."""
    best: FloatArray
    """(n_tasks,) largest return; -inf before the first."""
    solved: FloatArray
    """(n_tasks,) number of returns of episodes that solved the task."""

    @classmethod
    def empty(cls, n_tasks: int) -> TaskStats:
        """Return the statistics of tasks without any episode."""
        zeros = np.zeros(n_tasks)
        return cls(zeros, zeros, zeros, np.full(n_tasks, -np.inf), zeros)

    @property
    def std(self) -> FloatArray:
        """(n_tasks,) population standard deviation of the returns."""
        result: FloatArray = np.sqrt(self.spread / np.maximum(self.count, 1.0))
        return result

    def state_dict(self) -> dict[str, Any]:
        """Return the statistics of the tasks that were tried, JSON-safe."""
        tasks = np.flatnonzero(self.count)
        columns = (self.count, self.mean, self.spread, self.best, self.solved)
        return {"tasks": tasks.tolist(), "columns": [column[tasks].tolist() for column in columns]}

    def restored(self, state: Mapping[str, Any]) -> TaskStats:
        """Rebuild the statistics from :meth:`state_dict`, for as many tasks."""
        fresh = TaskStats.empty(len(self.count))
        columns = [
            column.copy()
            for column in (fresh.count, fresh.mean, fresh.spread, fresh.best, fresh.solved)
        ]
        for column, values in zip(columns, state["columns"], strict=True):
            column[state["tasks"]] = values
        return TaskStats(*columns)

    def update(self, tasks: IntArray, returns: FloatArray, solved: BoolArray) -> TaskStats:
        """Add returns (n,) of tasks (n,) in [0, n_tasks), without changing this object.

        Args:
            tasks: Task of each episode.
            returns: Return of each episode.
            solved: Whether each episode solved its task.

        Returns:
            The new statistics (parallel Welford update).
        """
        size = len(self.count)
        added = np.bincount(tasks, minlength=size).astype(np.float64)
        mean = sums(tasks, returns, size) / np.maximum(added, 1.0)
        spread = sums(tasks, (returns - mean[tasks]) ** 2, size)
        count = self.count + added
        share = added / np.maximum(count, 1.0)
        delta = mean - self.mean
        best = self.best.copy()
        np.maximum.at(best, tasks, returns)
        total = self.spread + spread + delta**2 * self.count * share
        successes = self.solved + sums(tasks, solved, size)
        return TaskStats(count, self.mean + delta * share, total, best, successes)


def task_value(stats: TaskStats) -> FloatArray:
    """Return VSPO's (n_tasks,) values ``(R_max - mean) * std``.

    A value is 0 if all returns are equal or there is none.
    """
    best = np.where(stats.count > 0, stats.best, stats.mean)
    return np.where(stats.std > _EQUAL, np.maximum(best - stats.mean, 0.0) * stats.std, 0.0)


def informative(stats: TaskStats, min_trials: int = 8) -> BoolArray:
    """Return the (n_tasks,) mask of tasks that are new, or solved sometimes.

    Tasks with a pass rate of 0 or 1 after ``min_trials`` episodes are dropped, whatever their
    returns with penalties and bonuses.
    """
    sometimes = (stats.solved > 0) & (stats.solved < stats.count)
    return (stats.count < min_trials) | sometimes


class TaskSampler(Protocol):
    """Choose the tasks of a step."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> Iterator[int]:
        """Yield task numbers for a step (from 1) without end."""


@dataclass(frozen=True)
class UniformSampler:
    """Draw tasks uniformly, with replacement."""

    n_tasks: int
    """Number of tasks."""
    seed: int = 0
    """Seed of the draws."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> Iterator[int]:
        """Yield task numbers, drawn with replacement."""
        rng = _rng(self.seed, step)
        while True:
            yield int(rng.integers(self.n_tasks))


@dataclass(frozen=True)
class InterleavedSampler:
    """Random permutations of an environment's tasks (AgentRL, arXiv 2510.04206).

    Several environments take turns, small ones as often as large ones, whatever the sampler: see
    ``trainers.rollouts.task_feed.MixedTasks``.
    """

    n_tasks: int
    """Number of tasks."""
    seed: int = 0
    """Seed of the order."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> Iterator[int]:
        """Yield task numbers; no task repeats before all have been drawn."""
        rng = _rng(self.seed, step)
        while True:
            yield from rng.permutation(self.n_tasks).tolist()


@dataclass(frozen=True)
class ValueSampler:
    """VSPO (arXiv 2512.07478): tasks in proportion to their value ``(R_max - mean) * std``.

    New tasks get the mean value of the others, or 1 if all are new.
    """

    n_tasks: int
    """Number of tasks."""
    seed: int = 0
    """Seed of the draws."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> Iterator[int]:
        """Yield task numbers, drawn with replacement; uniform while no task has a value."""
        rng = _rng(self.seed, step)
        weight = np.ones(self.n_tasks)
        if stats is not None and (stats.count > 0).any():
            weight, attempted = task_value(stats), stats.count > 0
            weight[~attempted] = weight[attempted].mean()
        if not weight.any():
            weight[:] = 1.0
        edges = weight.cumsum() / weight.sum()
        while True:
            # From the right, so that a draw on the edge of a task without value goes past it.
            yield int(np.searchsorted(edges, rng.random(), side="right"))


@dataclass(frozen=True)
class InformativeSampler:
    """Uniform over tasks that are neither always solved nor never (GRPO-TCR, arXiv 2510.11701)."""

    n_tasks: int
    """Number of tasks."""
    seed: int = 0
    """Seed of the draws."""
    min_trials: int = 8
    """Episodes of a task before it can be dropped."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> Iterator[int]:
        """Yield task numbers without repeats until all are drawn; all tasks if none is left."""
        rng = _rng(self.seed, step)
        keep = None if stats is None else np.flatnonzero(informative(stats, self.min_trials))
        candidates = np.arange(self.n_tasks) if keep is None or not keep.size else keep
        while True:
            yield from rng.permutation(candidates).tolist()


SamplerMaker = Callable[[int, int], TaskSampler]
"""Makes a sampler from the number of tasks and a seed."""
SAMPLERS: Mapping[str, SamplerMaker] = MappingProxyType(
    {
        "uniform": UniformSampler,
        "interleaved": InterleavedSampler,
        "value": ValueSampler,
        "informative": InformativeSampler,
    }
)
"""Every sampler that a run can choose, by name."""


def _rng(seed: int, step: int) -> np.random.Generator:
    """Return a separate generator for each step."""
    check_step(step)
    return np.random.default_rng((seed, step))
