"""A reward for how much is written: untrained policies differ in nothing else.

They solve nothing, and where the members of every group are paid alike nothing is trained, so that
a benchmark of training would time a training that does not happen.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.core.hooks import TurnContext

__all__ = ["Letters"]


@dataclass
class Letters:
    """Pay for the length of an action."""

    name: str = "letters"
    weight: float = 1.0

    def __call__(self, context: TurnContext) -> float:
        """Return a reward that depends on the length of the action."""
        return len(context.action) % 7 / 7

    def reset(self) -> None:
        """Do nothing."""
