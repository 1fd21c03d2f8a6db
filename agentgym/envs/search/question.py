"""A question over a corpus, with its answers and, where they are known, its evidence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question, its right answers, and the passages with its evidence."""

    text: str
    """The question as it is shown."""
    answers: tuple[str, ...]
    """Accepted answers; the first is the usual form."""
    kind: str = ""
    """``chain``, ``comparison``, ``intersection`` or ``count``; empty for questions of others."""
    hops: int = 0
    """Searches that the plan needs; 0 if unknown."""
    gold: tuple[str, ...] = ()
    """Ids of the passages that together contain the evidence."""
    plan: tuple[str, ...] = ()
    """Queries that find all of ``gold``, in an order in which they can be asked."""
