"""A reward for the length of actions, so that an untrained policy's returns differ.

Such a policy solves nothing, and with equal returns in every group nothing would train, so that a
benchmark of training would time steps without an update.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.core.hooks import TurnContext

__all__ = ["Letters"]


@dataclass
class Letters:
    """Reward the length of an action."""

    name: str = "letters"
    weight: float = 1.0

    def __call__(self, context: TurnContext) -> float:
        """Return a reward that depends on the length of the action."""
        return len(context.action) % 7 / 7

    def reset(self) -> None:
        """Do nothing."""
