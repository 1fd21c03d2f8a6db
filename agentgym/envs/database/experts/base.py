"""Base of the experts."""

from __future__ import annotations

from typing import Protocol

from agentgym.envs.database.engine.session import DatabaseSession

Command = tuple[str, str]
"""Name of an action, and its argument."""
DONE = "done"
"""The answer after a change."""


class Expert(Protocol):
    """An expert: plans the rest of a running episode."""

    def plan(self, session: DatabaseSession) -> list[Command]:
        """Return the remaining commands up to the answer; empty if there is no plan."""
        ...
