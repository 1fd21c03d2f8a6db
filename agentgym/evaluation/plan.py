"""The plan of an evaluation: the tasks of a panel, each with a number of samples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentgym.core.options import integer
from agentgym.core.tasks import TaskSet
from agentgym.errors import ConfigurationError
from agentgym.vector.episode import derive_seed


class Job(NamedTuple):
    """One episode to play."""

    task_id: str
    """The task."""
    sample: int
    """Number of the sample of the task, from 0."""
    seed: int
    """Seed of the episode."""

    @property
    def key(self) -> tuple[str, int]:
        """Task id and sample, which identify the episode."""
        return self.task_id, self.sample


@dataclass(frozen=True)
class Plan:
    """The episodes of an evaluation, in panel order; samples of a task are adjacent."""

    split: str
    """Split of the tasks."""
    panel_sha256: str
    """Hash over the content of the tasks."""
    n: int
    """Number of tasks."""
    jobs: tuple[Job, ...]
    """The episodes."""


def plan(
    tasks: TaskSet,
    split: str,
    n: int | None,
    seed: int,
    task_ids: Sequence[str] | None,
    samples: int,
) -> Plan:
    """Choose the tasks and the seeds of their episodes.

    The seed of an episode depends only on ``seed``, the position of its task and its sample, so a
    longer evaluation begins with the episodes of a shorter one.

    Args:
        tasks: The task set.
        split: Split of the panel.
        n: Number of tasks, cut to the size of the split; None: all tasks of the split.
        seed: Seed of the panel and of the episodes.
        task_ids: Ids of tasks to play instead of a panel, in this order.
        samples: Episodes of each task.

    Raises:
        ConfigurationError: An argument is out of its domain.
        TaskNotFound: There is no such split or task.
    """
    if integer(samples, "the number of samples") < 1:
        raise ConfigurationError(f"expected at least 1 sample of each task, got {samples}")
    if task_ids is not None:
        split, ids, digest = _listed(tasks, task_ids)
    else:
        size = tasks.size(split)
        panel = tasks.panel(split, size if n is None else min(n, size), seed)
        split, ids, digest = panel.split, panel.ids, panel.sha256
    jobs = []
    for index, task_id in enumerate(ids):
        for sample in range(samples):
            parts = (seed, index) if sample == 0 else (seed, index, sample)
            jobs.append(Job(task_id, sample, derive_seed(*parts)))
    return Plan(split, digest, len(ids), tuple(jobs))


def _listed(tasks: TaskSet, task_ids: Sequence[str]) -> tuple[str, tuple[str, ...], str]:
    """Return split, ids and hash for a list of task ids."""
    if isinstance(task_ids, str) or not task_ids or len({*task_ids}) < len(task_ids):
        raise ConfigurationError(
            f"expected a list of different ids of tasks, at least one, got {task_ids!r:.200}"
        )
    chosen_tasks = [tasks.find(task_id) for task_id in task_ids]
    splits = sorted({task.split for task in chosen_tasks})
    digest = hashlib.sha256("".join(task.digest() for task in chosen_tasks).encode()).hexdigest()
    return ",".join(splits), tuple(task.id for task in chosen_tasks), digest
