"""What experts share."""

from __future__ import annotations

from typing import Protocol

from agentgym.envs.database.engine.session import DatabaseSession

Command = tuple[str, str]
"""Name of an action, and its argument."""
DONE = "done"
"""What is answered when a change was made."""


class Expert(Protocol):
    """Says what to do next in a running episode."""

    def plan(self, session: DatabaseSession) -> list[Command]:
        """Return the commands from here to the answer; none where it knows no way."""
        ...
