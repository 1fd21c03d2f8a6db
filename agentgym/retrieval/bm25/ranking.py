"""The best documents of a query: by adding up all postings, or exactly the same by far fewer.

A document's score is the sum of what the query's terms add to it, in float64 and in the order of
the query, rounded to float32; equal scores go by rank. :func:`exhaustive` computes it for every
document. :func:`pruned` knows the most that each term adds, its bound, and leaves out documents
that cannot be among the best k (MaxScore: Turtle and Flood, Query evaluation: strategies and
optimizations, 1995), a term at a time:

1. Terms come in falling order of their bounds. A document that holds none of the first j scores at
   most the sum of the other bounds; once that is below a score that k documents reach, no further
   document needs to be found.
2. Of the documents of a term only those are followed whose score for it, with the bounds of the
   terms behind it, reaches that score; they are looked up term by term, and dropped as soon as what
   they have with what they could still get is too low.

All of this is done with a margin above the rounding of floating point. What is left is scored again
in the order of the query, so that both ways return the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agentgym.retrieval.bm25.similarity import Floats, Ints

MARGIN = 2.0**-20
"""Relative error that is granted to every estimate; float32 rounds by 2**-24."""
BLOCK = 64
"""Scores of which only the highest is looked at to bound the best k."""
SPARSE = 4
"""With this many documents for each posting, looking at the postings alone costs less."""
FEW_POSTINGS = 1 << 15
"""Up to this many postings are added up in one call."""
WORTH_PRUNING = 1 << 14
"""With less to look at than this times ``k + 4``, adding up always costs less."""
LOOKUP_COST = 20
"""Postings that are added up in the time in which one document is looked up."""
ROUND_COST = 2000
"""Postings that are added up in the time that looking up takes beside the documents."""


class Postings(NamedTuple):
    """The documents that hold one term of a query."""

    documents: npt.NDArray[np.int32]
    """Their numbers, ascending."""
    codes: Ints
    """Number of the saturation of each."""
    by_code: Floats
    """What the term adds to a score, by number of the saturation, which it rises with."""
    highest: int
    """The highest of ``codes``."""

    @property
    def bound(self) -> float:
        """The most that the term adds to a score."""
        return float(self.by_code[self.highest])

    def scores(self, at: Ints | slice = slice(None)) -> Floats:
        """Return what the term adds to the scores of the documents at these places."""
        return self.by_code.take(self.codes[at])


def best(
    query: Sequence[Postings], ranks: npt.NDArray[np.int32], k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the numbers and scores of the best k documents, by the way that costs less.

    Args:
        query: The terms of the query, in its order.
        ranks: Place of each document among equal scores [documents].
        k: Most documents to return.
    """
    rows = pruned(query, len(ranks), k)
    return exhaustive(query, ranks, k) if rows is None else top(*rescored(query, rows), ranks, k)


def exhaustive(
    query: Sequence[Postings], ranks: npt.NDArray[np.int32], k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Add up all postings and return the best k documents."""
    if _sparse(query, len(ranks)):
        return top(*_found_scores(query, len(ranks), k), ranks, k)
    totals = _totals(query, len(ranks))
    rows = _promising(totals, k)
    return top(rows, totals[rows].astype(np.float32), ranks, k)


def top(
    rows: Ints, scores: Floats, ranks: npt.NDArray[np.int32], k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Order scored documents and return the best k."""
    if len(rows) > k:
        least = np.partition(scores, len(rows) - k)[len(rows) - k]
        kept = scores >= least
        rows, scores = rows[kept], scores[kept]
    order = np.lexsort((ranks[rows], -scores))[:k]
    return rows[order], scores[order]


def _sparse(query: Sequence[Postings], documents: int) -> bool:
    """Return whether a query finds few of all documents."""
    return SPARSE * sum(len(term.documents) for term in query) < documents


def _totals(query: Sequence[Postings], documents: int) -> npt.NDArray[np.float64]:
    """Return the scores of all documents."""
    if sum(len(term.documents) for term in query) <= FEW_POSTINGS:
        rows = np.concatenate([term.documents for term in query])
        added = np.concatenate([term.scores() for term in query])
        return np.bincount(rows, added, documents).astype(np.float64, copy=False)
    totals = np.zeros(documents)
    for term in query:
        rows = term.documents.astype(np.intp)
        added = totals.take(rows, mode="clip")  # which spares a copy; the next line checks
        added += term.scores()
        totals[rows] = added
    return totals


def _promising(totals: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]:
    """Return the documents with text of the query that may be among the best k, in order."""
    blocks = len(totals) // BLOCK
    if blocks <= k:
        return np.flatnonzero(totals)
    # Each of k blocks holds a document with a score as high as the k-th highest of the blocks.
    peaks = totals[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
    least = np.partition(peaks, blocks - k)[blocks - k] * (1 - MARGIN)
    return np.flatnonzero(totals >= least) if least > 0 else np.flatnonzero(totals)


def _found_scores(query: Sequence[Postings], documents: int, k: int) -> tuple[Ints, Floats]:
    """Return documents among which the best k are, ascending, and the scores of a sparse query."""
    rows = np.concatenate([term.documents for term in query]).astype(np.intp)
    totals = np.bincount(rows, np.concatenate([term.scores() for term in query]), documents)
    # A document stands there once for each of its terms, so this many places hold k documents.
    places = k * len(query)
    if len(rows) > places:
        found = totals.take(rows)
        least = np.partition(found, len(rows) - places)[len(rows) - places] * (1 - MARGIN)
        rows = rows[found >= least]
    rows = np.unique(rows)
    scores = totals.take(rows)
    return rows[scores > 0], scores[scores > 0].astype(np.float32)


def rescored(query: Sequence[Postings], rows: Ints) -> tuple[Ints, Floats]:
    """Return those of these documents that the query finds, and their scores."""
    totals = np.zeros(len(rows))
    for term in query:
        found, places = _found(term.documents, rows)
        totals[found] += term.scores(places)
    kept = totals > 0
    return rows[kept], totals[kept].astype(np.float32)


def pruned(query: Sequence[Postings], documents: int, k: int) -> Ints | None:
    """Return documents among which the best k are, ascending; None if adding up costs less."""
    budget = sum(len(term.documents) for term in query)
    if not _sparse(query, documents):
        budget += documents
    if budget < WORTH_PRUNING * (k + 4):
        return None
    terms = sorted(query, key=lambda term: (-term.bound, len(term.documents)))
    behind = np.cumsum([0.0, *(term.bound for term in reversed(terms))])[::-1].tolist()
    pool, scores = np.empty(0, np.int32), np.empty(0)
    least = 0.0  # k documents score as much, but for the margin
    for number, term in enumerate(terms):
        if behind[number] < least:
            break
        rows, found = _start(term, least - behind[number + 1])
        for other in range(number + 1, len(terms)):
            if not len(rows):
                break
            budget -= ROUND_COST + LOOKUP_COST * min(len(rows), len(terms[other].documents))
            if budget <= 0:
                return None
            hits, places = _found(terms[other].documents, rows)
            found[hits] += terms[other].scores(places)
            least = max(least, _least(found, k))
            kept = found >= least - behind[other + 1]
            if not kept.all():
                rows, found = rows[kept], found[kept]
        fresh = np.isin(rows, pool, assume_unique=True, invert=True)
        pool, scores = np.append(pool, rows[fresh]), np.append(scores, found[fresh])
        least = max(least, _least(scores, k))
    return np.sort(pool[scores >= least]).astype(np.int64)


def _start(term: Postings, needed: float) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Return the documents of a term to which it adds at least so much, and what it adds."""
    if needed <= 0:
        return term.documents, term.scores().astype(np.float64)
    code = int(np.searchsorted(term.by_code, needed))
    places = np.flatnonzero(term.codes >= code) if code <= term.highest else np.empty(0, np.intp)
    return term.documents[places], term.scores(places).astype(np.float64)


def _least(scores: npt.NDArray[np.float64], k: int) -> float:
    """Return a score that k documents are sure to reach, less the margin."""
    if len(scores) < k:
        return 0.0
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) * (1 - 2 * MARGIN)


def _found(documents: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return which of these rows are among the documents, and where; both ascend."""
    if len(documents) < len(rows):
        places, found = _found(rows, documents)
        return found, places
    places = np.searchsorted(documents, rows)
    places[places == len(documents)] = 0
    found = np.flatnonzero(documents[places] == rows)
    return found, places[found]
