"""A question over a corpus, with its answers and, where they are known, its evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """What is asked, what counts as right, and where the evidence stands."""

    text: str
    """The question as it is shown."""
    answers: tuple[str, ...]
    """Accepted answers; the first is the usual form."""
    kind: str = ""
    """``chain``, ``comparison``, ``intersection`` or ``count``; empty for questions of others."""
    hops: int = 0
    """Searches that the plan needs; 0 if unknown."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that together hold the evidence."""
    plan: tuple[str, ...] = ()
    """Queries that find all of ``gold``, in an order in which they can be asked."""
