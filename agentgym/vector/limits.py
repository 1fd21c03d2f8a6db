"""Time limits of operations on environments."""

from __future__ import annotations

from dataclasses import dataclass

CLOSE_SECONDS = 2.0
"""How long closing waits for threads and processes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds; None is no limit."""

    step: float | None = None
    """Limit of one step of one environment."""
    reset: float | None = None
    """Limit of one reset or call of one environment."""

    def of(self, kind: str) -> float:
        """Return the limit of ``kind`` (``"step"`` or another), infinite if there is none."""
        limit = self.step if kind == "step" else self.reset
        return float("inf") if limit is None else limit


def overdue(kind: str, limit: float) -> str:
    """Describe an environment that passed its time limit."""
    return f"no answer to {kind} within {limit:g} s: the environment hangs and was given up"
