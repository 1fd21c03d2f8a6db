"""Base of the experts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentgym.envs.shell.engine.session import Problem, ShellStep

Command = tuple[str, str]
"""Name of an action, and its argument."""
DONE = "done"
"""The answer after a change."""


class Expert(Protocol):
    """An expert: plans the rest of a running episode."""

    def plan(self, problem: Problem, steps: Sequence[ShellStep]) -> list[Command]:
        """Return the remaining commands up to the answer; empty if the expert has no plan.

        Commands that depend on output still to come are placeholders; only their number is exact.
        """
        ...
