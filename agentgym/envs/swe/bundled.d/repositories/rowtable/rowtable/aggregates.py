"""Functions that make one value of many; missing values do not count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rowtable.errors import TableError


def count(values: Sequence[Any]) -> int:
    """Number of values."""
    return len(values)


def distinct(values: Sequence[Any]) -> int:
    """Number of different values."""
    return len(set(values))


def total(values: Sequence[Any]) -> Any:
    """Sum of the values; 0 if there are none."""
    return sum(values)


def mean(values: Sequence[Any]) -> float | None:
    """Average of the values."""
    return sum(values) / len(values) if values else None


def median(values: Sequence[Any]) -> Any:
    """The value in the middle, or the average of the two there."""
    if not values:
        return None
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def least(values: Sequence[Any]) -> Any:
    """The least value."""
    return min(values, default=None)


def greatest(values: Sequence[Any]) -> Any:
    """The greatest value."""
    return max(values, default=None)


def first(values: Sequence[Any]) -> Any:
    """The value that comes first."""
    return values[0] if values else None


AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": count,
    "distinct": distinct,
    "sum": total,
    "avg": mean,
    "median": median,
    "min": least,
    "max": greatest,
    "first": first,
}


def aggregate(name: str, values: Iterable[Any]) -> Any:
    """Apply an aggregate by its name to the values that are not missing."""
    if name not in AGGREGATES:
        raise TableError(f"unknown aggregate {name!r}, there are {', '.join(AGGREGATES)}")
    return AGGREGATES[name]([value for value in values if value is not None])
