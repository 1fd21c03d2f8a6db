"""The scale from 0 to 100 on which scores of different tasks can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.support.statistics import scaled

SOLVES = 0.9
"""Minimum success of an expert, below which its score cannot define 100 on the scale."""


@dataclass(frozen=True)
class Scale:
    """Scores of the random policy (0) and the expert (100) on the panel of a report."""

    random: float | None
    """Mean score of the random policy; None if it could not be played."""
    expert: float | None
    """Mean score of the expert; None if the environment has none, or it could not be played."""
    expert_success: float | None = None
    """Share of the tasks that the expert solves."""
    failed: str = ""
    """Which of the two policies could not be played, and why."""
    random_success: float | None = None
    """Share of the tasks that the random policy solves."""

    @property
    def problem(self) -> str:
        """Why there is no scale from 0 to 100; empty if there is one."""
        if self.failed:
            return self.failed
        if self.random is None or self.expert is None or self.expert_success is None:
            return "this environment has no expert to define 100"
        if self.expert_success < SOLVES:
            return (
                f"the expert solves only {self.expert_success:.3f} of these tasks, so it cannot "
                "define 100; a longer horizon may let it finish"
            )
        if self.expert <= self.random:
            return (
                f"random actions score {self.random:.3f}, and the expert {self.expert:.3f}: these "
                "tasks need no skill"
            )
        return ""

    def place(self, score: float) -> float | None:
        """Return a score on the scale from 0 to 100; None if there is no scale."""
        if self.problem or self.random is None or self.expert is None:
            return None
        return scaled(score, self.random, self.expert)
