"""The vector environments of a rollout: what the runner asks of them, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from trainers.rollouts.live_episode import Answer

__all__ = ["Envs", "Fork", "Start"]

Start = tuple[str, dict[str, Any]]
"""The return values of a reset: observation and info."""
Fork = object
"""A snapshot of an environment: any object except a tuple; None if the environment failed."""


class Envs(Protocol):
    """The part of ``agentgym.vector.TextVectorEnv`` that the runner uses."""

    num_envs: int

    def close(self) -> None:
        """Release their resources."""
        ...

    @property
    def concurrent(self) -> bool:
        """Whether environments step in the background."""
        ...

    def send_resets(
        self,
        slots: Sequence[int],
        seeds: Sequence[int | None],
        options: Sequence[dict[str, Any] | None],
    ) -> None:
        """Start episodes in some slots."""
        ...

    def send_slots(self, slots: Sequence[int], actions: Sequence[str]) -> None:
        """Take one turn in some slots."""
        ...

    def send_snapshots(self, slots: Sequence[int]) -> None:
        """Fork the episodes of some slots."""
        ...

    def send_restores(self, slots: Sequence[int], snapshots: Sequence[Any]) -> None:
        """Restore snapshots in some slots."""
        ...

    def receive(self, timeout: float | None = None) -> Sequence[tuple[int, Start | Answer | Fork]]:
        """Return the available answers by slot; wait for the first until the timeout."""
        ...

    def abandon_slots(self) -> None:
        """Abandon unanswered requests."""
        ...
