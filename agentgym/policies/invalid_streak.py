"""The limit on consecutive invalid actions of an episode."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.core.outcome import StopReason
from agentgym.policies.play import Moment


@dataclass(slots=True)
class InvalidStreak:
    """Count the invalid actions since the last valid one of an episode.

    The actions need not be equal: an invalid action changes nothing, whatever its text, and a
    sampled model rarely repeats itself literally.
    """

    most: int
    """Number of consecutive invalid actions that ends an episode; 0: no limit."""
    length: int = 0
    """Invalid actions since the last valid one."""

    def add(self, valid: bool) -> str:
        """Count a turn.

        Args:
            valid: Whether its action was valid.

        Returns:
            The reason to end the episode, empty if it goes on.
        """
        self.length = 0 if valid else self.length + 1
        reached = 0 < self.most <= self.length
        return StopReason.INVALID_ACTIONS.value if reached else ""

    def end_when(self, moment: Moment) -> str:
        """Count the turn that led to a moment; see `add`."""
        return self.add(moment.info["action_valid"])
