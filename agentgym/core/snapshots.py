"""Snapshots of a running episode: `Snapshot`, and whether one fits an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgym.core.fingerprint import VIEWS
from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from agentgym.core.env import TextEnv


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
    env: TextEnv[Any], state: object, current_task: Task | None, current_digest: str | None
) -> tuple[Task, str]:
    """Return the task of a snapshot and its digest, if the snapshot fits an environment.

    Args:
        env: The environment.
        state: The snapshot.
        current_task: The task of its running episode, if any.
        current_digest: The digest of this task, if known: a task may be large.

    Raises:
        ConfigurationError: It does not fit.
        TaskNotFound: The snapshot is from another task set.
    """
    if not isinstance(state, Snapshot):
        raise ConfigurationError(
            f"expected a snapshot of {type(env).__name__}, got {type(state).__name__}"
        )
    if state.configuration != env.configuration:
        raise ConfigurationError(
            f"expected a snapshot of an environment made like this {type(env).__name__}, got "
            "one of another class or other arguments: make both with the same arguments, "
            f"reward hooks included (of all, only {', '.join(sorted(VIEWS))} may differ)"
        )
    if current_task is not None and current_task.id == state.task_id:
        task, digest = current_task, current_digest or current_task.digest()
    else:
        task = env.tasks.find(state.task_id)
        digest = task.digest()
    if digest != state.task_digest:
        raise ConfigurationError(
            f"expected a snapshot of task {task.id} as it is in this environment, got one of a "
            "task with the same id and other content: make both from the same data"
        )
    return task, digest
