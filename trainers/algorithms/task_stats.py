"""What past returns say about each task: statistics, VSPO's value, pass-rate filter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainers.algorithms.segments import BoolArray, FloatArray, IntArray, sums

_EQUAL = 1e-8


@dataclass(frozen=True, eq=False)
class TaskStats:
    """Returns seen so far of each of T tasks."""

    count: FloatArray
    """(T,) returns seen."""
    mean: FloatArray
    """(T,) their mean; 0 before the first."""
    spread: FloatArray
    """(T,) their summed squared deviation from the mean."""
    best: FloatArray
    """(T,) the largest; -inf before the first."""

    @classmethod
    def empty(cls, n_tasks: int) -> TaskStats:
        """Statistics of tasks nobody has tried."""
        zeros = np.zeros(n_tasks)
        return cls(zeros, zeros, zeros, np.full(n_tasks, -np.inf))

    @property
    def std(self) -> FloatArray:
        """(T,) population standard deviation of the returns."""
        result: FloatArray = np.sqrt(self.spread / np.maximum(self.count, 1.0))
        return result

    def update(self, tasks: IntArray, returns: FloatArray) -> TaskStats:
        """Adds returns, without changing this object.

        Args:
            tasks: (n,) task of each return, in [0, T).
            returns: (n,) returns.

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
        return TaskStats(count, self.mean + delta * share, total, best)


def task_value(stats: TaskStats) -> FloatArray:
    """VSPO's value of each task, `(R_max - mean) * std`: 0 iff all returns are equal.

    Args:
        stats: Returns seen so far.

    Returns:
        (T,) values >= 0; 0 for tasks nobody has tried.
    """
    best = np.where(stats.count > 0, stats.best, stats.mean)
    return np.where(stats.std > _EQUAL, np.maximum(best - stats.mean, 0.0) * stats.std, 0.0)


def informative(stats: TaskStats, min_trials: int = 8) -> BoolArray:
    """Tasks that are new or whose returns differ: those with pass rate 0 or 1 are dropped.

    Args:
        stats: Returns seen so far.
        min_trials: Returns a task must have before it can be dropped.

    Returns:
        (T,) mask of the tasks to keep.
    """
    return (stats.count < min_trials) | (stats.std > _EQUAL)
