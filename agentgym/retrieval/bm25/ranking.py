"""The best documents of a query: by adding up all postings, or exactly the same by far fewer.

A document's score is the sum of its query terms' contributions, in float64 and in the order of the
query, rounded to float32; equal scores go by rank. :func:`exhaustive` computes it for every
document. :func:`pruned` knows the most that each term adds, its bound, and leaves out documents
that cannot be among the best k (MaxScore: Turtle and Flood, Query evaluation: strategies and
optimizations, 1995), a term at a time:

1. Terms come in falling order of their bounds. A document that holds none of the first j scores at
   most the sum of the other bounds; once that is below a score that k documents reach, no further
   document needs to be found.
2. Of the documents of a term only those are followed whose score for it, with the bounds of the
   terms behind it, reaches that score; they are looked up term by term, and dropped as soon as what
   they have with what they could still get is too low.
3. As long as few are followed, the documents of the next short term join them, which spares them a
   pass of their own.

All of this is done with a margin above the rounding of floating point. What is left is scored again
in the order of the query, so that both ways return the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from agentgym.retrieval.bm25.similarity import Floats, Ints

MARGIN = 2.0**-20
"""Relative error that is granted to every estimate; float32 rounds by 2**-24."""
BLOCK = 64
"""Scores of which only the highest is looked at to bound the best k of many."""
SPARSE = 4
"""With this many documents for each posting, sorting the postings costs less."""
FEW_POSTINGS = 1 << 14
"""Up to this many postings are added up in one call."""
PIECE = 1 << 13
"""Postings that are added up at a time: larger arrays are slow, since each is new memory."""
JOINED = 1 << 13
"""Maximum number of candidate documents when those of another term join them."""

# Costs, in units of the time to read one number of a long array.
ADD_COST = 6
"""Adding up a posting."""
SORT_COST = 12
"""Adding up a posting after sorting."""
LOOKUP_COST = 20
"""Cost of looking up one document among those of a term."""
ROUND_COST = 10_000
"""Looking up any documents."""
WORTH_PRUNING = 120_000
"""Below this cost pruning does not pay."""


class Postings(NamedTuple):
    """The documents that hold one term of a query."""

    documents: npt.NDArray[np.int32]
    """Their numbers, ascending [postings]."""
    codes: Ints
    """Number of the saturation of each [postings]."""
    by_code: Floats
    """The term's contribution to a score, by number of the saturation, ascending [codes]."""
    highest: int
    """The highest of ``codes``."""

    @property
    def bound(self) -> float:
        """The most that the term adds to a score."""
        return float(self.by_code[self.highest])

    def scores(self, positions: Ints | slice = slice(None)) -> Floats:
        """Return the term's contributions to the scores of the documents at these places."""
        return self.by_code.take(self.codes[positions])

    def pieces(self) -> Iterator[Postings]:
        """Yield the postings in pieces of :data:`PIECE`."""
        for first in range(0, len(self.documents), PIECE):
            span = slice(first, first + PIECE)
            yield self._replace(documents=self.documents[span], codes=self.codes[span])


def best(
    query: Sequence[Postings], ranks: npt.NDArray[np.int32], k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the numbers and scores of the best k documents, by the way that costs less.

    Args:
        query: The terms of the query, in its order.
        ranks: Place of each document among equal scores [documents].
        k: Most documents to return.

    Returns:
        Numbers (int64) and scores (float32), both [at most k].
    """
    rows = pruned(query, len(ranks), k)
    return exhaustive(query, ranks, k) if rows is None else top(*rescored(query, rows), ranks, k)


def exhaustive(
    query: Sequence[Postings], ranks: npt.NDArray[np.int32], k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Add up all postings and return the best k documents."""
    if _sparse(query, len(ranks)):
        rows, totals = _merged([term.documents for term in query],
                               [term.scores() for term in query])  # fmt: skip
    else:
        totals = _totals(query, len(ranks))
        rows = np.flatnonzero(totals >= _least(_peaks(totals), k))
        totals = totals[rows]
    positive = totals > 0
    return top(rows[positive].astype(np.int64), totals[positive].astype(np.float32), ranks, k)


def top(
    rows: npt.NDArray[np.int64], scores: Floats, ranks: npt.NDArray[np.int32], k: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Order scored documents, ``rows`` and ``scores`` [found], and return the best k of both."""
    if len(rows) > k:
        least = np.partition(scores, len(rows) - k)[len(rows) - k]
        selected = scores >= least
        rows, scores = rows[selected], scores[selected]
    order = np.lexsort((ranks[rows], -scores))[:k]
    return rows[order], scores[order]


def _sparse(query: Sequence[Postings], documents: int) -> bool:
    """Return whether a query finds few of all documents."""
    return SPARSE * sum(len(term.documents) for term in query) < documents


def _totals(query: Sequence[Postings], documents: int) -> npt.NDArray[np.float64]:
    """Return the scores of all documents [documents]."""
    if sum(len(term.documents) for term in query) <= FEW_POSTINGS:
        rows = np.concatenate([term.documents for term in query])
        added = np.concatenate([term.scores() for term in query])
        return np.bincount(rows, added, documents).astype(np.float64, copy=False)
    totals = np.zeros(documents)
    for term in query:
        for piece in term.pieces():
            rows = piece.documents.astype(np.intp)
            added = totals.take(rows, mode="clip")  # which spares a copy; the next line checks
            added += piece.scores()
            totals[rows] = added
    return totals


def _merged(
    rows: Sequence[Ints], scores: Sequence[npt.NDArray[Any]]
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Return the documents of several lists, ascending, and the sums of their scores in order."""
    listed = np.concatenate(rows)
    order = listed.argsort(kind="stable")  # which is fast, since the lists ascend
    listed = listed[order]
    first = np.ones(len(listed), bool)
    np.not_equal(listed[1:], listed[:-1], out=first[1:])
    totals = np.bincount(np.cumsum(first) - 1, np.concatenate(scores)[order])
    return listed[first], totals.astype(np.float64, copy=False)


def rescored(
    query: Sequence[Postings], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return those of these documents [rows] that the query finds, and their scores."""
    totals = np.zeros(len(rows))
    for term in query:
        hits, places = _locate(term.documents, rows)
        totals[hits] += term.scores(places)
    positive = totals > 0
    return rows[positive], totals[positive].astype(np.float32)


def pruned(query: Sequence[Postings], documents: int, k: int) -> npt.NDArray[np.int64] | None:
    """Return documents among which the best k are, ascending; None if adding up costs less."""
    budget = sum(len(term.documents) for term in query)
    budget *= SORT_COST if _sparse(query, documents) else ADD_COST
    if budget < WORTH_PRUNING:
        return None
    terms = sorted(query, key=lambda term: (-term.bound, len(term.documents)))
    behind = np.cumsum([0.0, *(term.bound for term in reversed(terms))])[::-1].tolist()
    pool, scores = np.empty(0, np.int32), np.empty(0)
    least = 0.0  # k documents score as much, but for the margin
    first = 0  # the documents of the terms before it have been followed
    while first < len(terms) and behind[first] >= least:
        rows, totals = _start(terms[first], least - behind[first + 1])
        first += 1
        for number, term in enumerate(terms[first:], first):
            joins = number == first and behind[number] >= least
            if joins and len(rows) + len(term.documents) <= JOINED:
                budget -= ROUND_COST
                rows, totals = _merged([rows, term.documents], [totals, term.scores()])
                first += 1
            elif len(rows):
                budget -= ROUND_COST + _add(totals, rows, term, documents)
            else:
                break
            if budget <= 0:
                return None
            least = max(least, _least(totals, k))
            viable = totals >= least - behind[number + 1]
            if not viable.all():
                rows, totals = rows[viable], totals[viable]
        fresh = np.isin(rows, pool, assume_unique=True, invert=True)
        pool, scores = np.append(pool, rows[fresh]), np.append(scores, totals[fresh])
        least = max(least, _least(scores, k))
    return np.sort(pool[scores >= least]).astype(np.int64)


def _start(term: Postings, needed: float) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Return the documents of a term with at least this contribution, and the contributions."""
    if needed <= 0:
        return term.documents, term.scores().astype(np.float64)
    code = int(np.searchsorted(term.by_code, needed))
    places = np.flatnonzero(term.codes >= code) if code <= term.highest else np.empty(0, np.intp)
    return term.documents[places], term.scores(places).astype(np.float64)


def _add(scores: npt.NDArray[np.float64], rows: Ints, term: Postings, documents: int) -> int:
    """Add a term's contributions to the scores of these documents; return the cost."""
    row_count, listed = len(rows), len(term.documents)
    looking_up = LOOKUP_COST * min(row_count, listed)
    reading_all = row_count + 2 * listed + documents // 8
    if looking_up < reading_all:
        hits, places = _locate(term.documents, rows)
        scores[hits] += term.scores(places)
        return looking_up
    added = np.zeros(documents, np.float32)
    for piece in term.pieces():
        added[piece.documents] = piece.scores()
    scores += added.take(rows, mode="clip")
    return reading_all


def _least(scores: npt.NDArray[np.float64], k: int) -> float:
    """Return a score that k documents are sure to reach, less the margin."""
    if len(scores) < k:
        return 0.0
    if len(scores) > 16 * BLOCK * k:
        scores = _peaks(scores)
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) * (1 - 2 * MARGIN)


def _peaks(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the highest score of each block: k of them are reached by k documents at least."""
    blocks = len(scores) // BLOCK
    return scores[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)


def _locate(documents: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return which of these rows are among the documents, and where; both ascend."""
    if len(documents) < len(rows):
        places, hits = _locate(rows, documents)
        return hits, places
    places = np.searchsorted(documents, rows)
    places[places == len(documents)] = 0
    hits = np.flatnonzero(documents[places] == rows)
    return hits, places[hits]
