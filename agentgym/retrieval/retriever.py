"""The interface of retrieval engines: passages for batches of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

LONGEST_QUERY = 8192
"""Number of characters of a query that an engine reads; a model's text may have any length."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a corpus, the unit of retrieval."""

    id: str
    """Name of the passage, unique in its corpus."""
    title: str
    """Its title on one line; may be empty."""
    text: str
    """The text without the title."""


class Hit(NamedTuple):
    """A retrieved passage and its score."""

    passage: Passage
    """The passage."""
    score: float
    """The engine's score; comparable only between hits of one query."""


@runtime_checkable
class Retriever(Protocol):
    """A search engine over passages, in this process or behind a server."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find the best passages for each query.

        Args:
            queries: Free text; a query without any word of the corpus has no hits.
            k: Maximum number of passages per query, at least 1.

        Returns:
            For each query its hits, best first; equal scores in a fixed order.

        Raises:
            EnvFailure: The engine failed; never raised because of a query's text.
        """
        ...

    def close(self) -> None:
        """Release files and connections; may be called twice."""
        ...
