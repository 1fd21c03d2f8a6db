"""What a task of mathematics is made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A question with its exact answer, and ways to find it."""

    text: str
    """The question."""
    answer: str
    """The right answer."""
    kind: str
    """What is asked for, such as ``remainder``; of a data set its subject or level."""
    operations: int = 0
    """How many steps of calculation it takes: what a larger level raises; 0 if unknown."""
    program: str = ""
    """Python that prints the answer; empty if unknown."""
    expression: str = ""
    """What the calculator is asked, if one line of it suffices."""
    shorter: str = ""
    """The expression with a small part left out, which often comes to the same."""
