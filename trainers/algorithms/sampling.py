"""Which tasks come next, which policy acts, and where a rollout branches.

Everything is a pure function of (seed, step): a run that resumes at a step draws the same tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trainers.algorithms.segments import FloatArray, IntArray
from trainers.algorithms.task_stats import TaskStats, informative, task_value


class TaskSampler(Protocol):
    """Chooses the tasks of a step."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> IntArray:
        """Returns (B,) task ids for a step, from 1."""


@dataclass(frozen=True)
class UniformSampler:
    """Every task once in each epoch, in an order of its own."""

    n_tasks: int
    """T, the number of tasks."""
    batch_size: int
    """B, tasks of a step."""
    seed: int = 0
    """Seed of the order."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> IntArray:
        """Returns (B,) task ids; a step may span two epochs."""
        _check_step(step)
        positions = np.arange((step - 1) * self.batch_size, step * self.batch_size)
        return _epochs(positions, self.n_tasks, (self.seed,))


@dataclass(frozen=True)
class InterleavedSampler:
    """Families in turn, each without repeats in its own epoch (AgentRL, arXiv 2510.04206).

    Small families come as often as large ones, as if they were replicated to equal size.
    """

    family: tuple[int, ...]
    """(T,) family of each task."""
    batch_size: int
    """B, tasks of a step."""
    seed: int = 0
    """Seed of the order within families."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> IntArray:
        """Returns (B,) task ids."""
        _check_step(step)
        family = np.asarray(self.family)
        families = np.unique(family)
        positions = np.arange((step - 1) * self.batch_size, step * self.batch_size)
        ids = np.empty(self.batch_size, dtype=np.int64)
        for k, name in enumerate(families):
            mine = positions % len(families) == k
            members = np.flatnonzero(family == name)
            draws = _epochs(positions[mine] // len(families), len(members), (self.seed, k))
            ids[mine] = members[draws]
        return ids


@dataclass(frozen=True)
class ValueSampler:
    """VSPO (arXiv 2512.07478): tasks in proportion to their value `(R_max - mean) * std`.

    Tasks nobody has tried get the mean value of the others, or 1 when all are new.
    """

    n_tasks: int
    """T, the number of tasks."""
    batch_size: int
    """B, tasks of a step."""
    seed: int = 0
    """Seed of the draws."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> IntArray:
        """Returns (B,) task ids, drawn with replacement; uniform while no task has a value."""
        rng = _rng(self.seed, step)
        weight = np.ones(self.n_tasks) if stats is None else task_value(stats)
        if stats is not None:
            tried = stats.count > 0
            weight[~tried] = weight[tried].mean() if tried.any() else 1.0
        if not weight.any():
            weight[:] = 1.0
        return rng.choice(self.n_tasks, self.batch_size, p=weight / weight.sum())


@dataclass(frozen=True)
class InformativeSampler:
    """Uniform over tasks that are neither always solved nor never (GRPO-TCR, arXiv 2510.11701)."""

    n_tasks: int
    """T, the number of tasks."""
    batch_size: int
    """B, tasks of a step."""
    seed: int = 0
    """Seed of the draws."""
    min_trials: int = 8
    """Returns a task must have before it can be dropped."""

    def __call__(self, step: int, stats: TaskStats | None = None) -> IntArray:
        """Returns (B,) task ids; all tasks are candidates when none is left."""
        keep = np.ones(self.n_tasks, dtype=bool)
        if stats is not None:
            keep = informative(stats, self.min_trials)
        pool = np.flatnonzero(keep) if keep.any() else np.arange(self.n_tasks)
        rng = _rng(self.seed, step)
        rounds = -(-self.batch_size // len(pool))
        return np.concatenate([rng.permutation(pool) for _ in range(rounds)])[: self.batch_size]


@dataclass(frozen=True)
class PolicyPool:
    """Cross-policy sampling (AgentRL, arXiv 2510.04206): some turns are played by a stale self."""

    stale_probability: float = 0.25
    """Probability that a turn is played by the stale policy."""
    refresh_every: int = 25
    """Steps between two copies of the current weights into the stale policy."""
    seed: int = 0
    """Seed of the draws."""

    def pick(self, step: int, turn: int, n: int) -> IntArray:
        """Who plays one turn of n episodes.

        Args:
            step: Training step, from 1.
            turn: Turn of the episodes, from 0.
            n: Number of episodes.

        Returns:
            (n,) 0 for the current policy, 1 for the stale one.
        """
        return (_rng(self.seed, step, turn).random(n) < self.stale_probability).astype(np.int64)

    def stale_version(self, step: int) -> int:
        """Steps that had been trained when the stale policy's weights were copied, at a step."""
        _check_step(step)
        return (step - 1) // self.refresh_every * self.refresh_every


@dataclass(frozen=True)
class EntropyBrancher:
    """ARPO (arXiv 2507.19849): branches a rollout where entropy rose after a tool's answer.

    `P(branch) = clip(base + weight * dH, 0, 1)` with dH the rise of the normalised entropy over
    that of the first turn; a branch makes beam - 1 copies of the episode so far.
    """

    base: float = 0.5
    """Branching probability without a rise."""
    weight: float = 0.2
    """Probability gained by one unit of normalised entropy."""
    beam: int = 2
    """Episodes a branch continues as."""
    initial: int = 8
    """Episodes started from the prompt."""
    total: int = 16
    """Most episodes of a prompt; what branching leaves over is started fresh."""

    def branch(self, rise: FloatArray, used: int, rng: np.random.Generator) -> IntArray:
        """Copies to make of each active episode.

        Args:
            rise: (A,) rise dH of each active episode.
            used: Episodes of the prompt so far, copies included.
            rng: Source of the draws.

        Returns:
            (A,) copies; their sum never exceeds `total - used`.
        """
        chosen = rng.random(len(rise)) <= np.clip(self.base + self.weight * rise, 0.0, 1.0)
        wanted = np.where(chosen, self.beam - 1, 0)
        before = np.cumsum(wanted) - wanted
        room = np.maximum(self.total - used - before, 0)
        return np.where(room < wanted, room, wanted)


def staleness_capacity(
    *, version: int, eta: int, batch_size: int, accepted: int, running: int, concurrency: int
) -> int:
    """Rollouts an asynchronous run may start now (AReaL, arXiv 2505.24298).

    `min(concurrency - running, (eta + version + 1) * B - (accepted + running))`.

    Args:
        version: Weight version being sampled from, from 0.
        eta: Largest allowed age of a trained trajectory, in versions.
        batch_size: B, trajectories of a step.
        accepted: Trajectories finished and accepted since the run began.
        running: Trajectories being generated.
        concurrency: Most trajectories at a time.

    Returns:
        How many may start, >= 0.
    """
    allowed = (eta + version + 1) * batch_size - (accepted + running)
    return max(min(concurrency - running, allowed), 0)


def _rng(*key: int) -> np.random.Generator:
    """A generator of its own for every key."""
    return np.random.default_rng(key)


def _epochs(positions: IntArray, size: int, key: tuple[int, ...]) -> IntArray:
    """Entries of an endless stream of shuffled epochs of [0, size)."""
    ids = np.empty(len(positions), dtype=np.int64)
    for epoch in np.unique(positions // size):
        mine = positions // size == epoch
        ids[mine] = _rng(*key, int(epoch)).permutation(size)[positions[mine] % size]
    return ids


def _check_step(step: int) -> None:
    """Raises ValueError for a step below 1."""
    if step < 1:
        raise ValueError(f"expected a training step counted from 1, got {step}; pass step + 1")
