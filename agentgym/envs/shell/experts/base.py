"""What experts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentgym.envs.shell.engine.session import Problem, Step

Command = tuple[str, str]
"""Name of an action, and its argument."""
DONE = "done"
"""What is answered when a change was made."""


class Expert(Protocol):
    """Says what to do next in a running episode."""

    def plan(self, problem: Problem, steps: Sequence[Step]) -> list[Command]:
        """Return the commands from here to the answer; none where it knows no way.

        Of what is not yet known only the number of commands is right.
        """
        ...
