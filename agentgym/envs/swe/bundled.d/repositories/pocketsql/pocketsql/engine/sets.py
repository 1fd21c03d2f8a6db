"""Rows of two queries as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pocketsql.engine.values import distinct_key
from pocketsql.storage.tables import Row


def row_key(row: Row) -> tuple[object, ...]:
    """Return by what rows are told apart; NULL is equal to NULL here."""
    return tuple(distinct_key(value) for value in row)


def unique(rows: Sequence[Row]) -> list[Row]:
    """Return rows without repetitions, each at its first place."""
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        found.setdefault(row_key(row), row)
    return list(found.values())


def combined(kind: str, every: bool, left: Sequence[Row], right: Sequence[Row]) -> list[Row]:
    """Return the rows of a set operation.

    Args:
        kind: ``union``, ``intersect`` or ``except``.
        every: Whether repetitions count (``ALL``): a row that is three times on the left and
            once on the right is once in both, and remains twice.
        left: The rows of the first query.
        right: The rows of the second query.
    """
    if kind == "union":
        both = [*left, *right]
        return both if every else unique(both)
    counts = Counter(map(row_key, right))
    if not every:
        wanted = kind == "intersect"
        return [row for row in unique(left) if (row_key(row) in counts) is wanted]
    found: list[Row] = []
    for row in left:
        key = row_key(row)
        matched = counts[key] > 0
        counts[key] -= matched
        if matched is (kind == "intersect"):
            found.append(row)
    return found
