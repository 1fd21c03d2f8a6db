"""The content of a task of mathematics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A question with its exact answer, and ways to calculate it."""

    text: str
    """The question."""
    answer: str
    """The right answer."""
    kind: str
    """Kind of problem, such as ``remainder``; for a data set, its subject or level."""
    operations: int = 0
    """Number of calculation steps, which grows with the level; 0 if unknown."""
    program: str = ""
    """Python that prints the answer; empty if unknown."""
    expression: str = ""
    """Expression for the calculator, if one line suffices."""
    shorter: str = ""
    """The expression without a small part; its value is often the same."""
