"""Snapshots of a running episode: `Snapshot`, and whether one fits an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentgym.core.fingerprint import VIEWS
from agentgym.core.tasks import Task, TaskSet
from agentgym.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A forked episode: restore it in any environment of the same configuration."""

    task_id: str
    """Task of the episode."""
    task_digest: str
    """SHA-256 of the task's content."""
    configuration: str
    """Fingerprint of the environment."""
    episode: dict[str, Any]
    """State of the base class."""
    hooks: Any
    """State of the reward hooks."""
    engine: Any
    """The family's state."""
    rng: dict[str, Any]
    """State of ``np_random``'s bit generator."""


def fitting_task(
    state: object,
    family: str,
    configuration: str,
    tasks: TaskSet,
    current: tuple[Task, str | None] | None,
) -> tuple[Task, str]:
    """Return the task of a snapshot and its digest, if the snapshot fits an environment.

    Args:
        state: The snapshot.
        family: Class of the environment, for messages.
        configuration: Fingerprint of the environment.
        tasks: Its task set.
        current: The task of its running episode, if any, with its digest, if already computed
            (hashing a large task is slow).

    Raises:
        ConfigurationError: It does not fit.
        TaskNotFound: The snapshot is from another task set.
    """
    if not isinstance(state, Snapshot):
        raise ConfigurationError(f"expected a snapshot of {family}, got {type(state).__name__}")
    if state.configuration != configuration:
        raise ConfigurationError(
            f"expected a snapshot of an environment made like this {family}, got "
            "one of another class or other arguments: make both with the same arguments, "
            f"reward hooks included (of all, only {', '.join(sorted(VIEWS))} may differ)"
        )
    if current is not None and current[0].id == state.task_id:
        task, known_digest = current
        digest = known_digest or task.digest()
    else:
        task = tasks.find(state.task_id)
        digest = task.digest()
    if digest != state.task_digest:
        raise ConfigurationError(
            f"expected a snapshot of task {task.id} as it is in this environment, got one of a "
            "task with the same id and other content: make both from the same data"
        )
    return task, digest
