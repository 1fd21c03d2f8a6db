"""What a list of numbers is like."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def _need(values: Sequence[float], least: int) -> None:
    """Refuse a list that is too short."""
    if len(values) < least:
        raise ValueError(f"expected at least {least} values, got {len(values)}")


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean."""
    _need(values, 1)
    return math.fsum(values) / len(values)


def variance(values: Sequence[float], sample: bool = True) -> float:
    """Return the variance.

    Args:
        values: The numbers.
        sample: Whether they are a sample (divide by n - 1) or all there are (divide by n).
    """
    _need(values, 2 if sample else 1)
    middle = mean(values)
    squares = math.fsum((value - middle) ** 2 for value in values)
    return squares / (len(values) - 1 if sample else len(values))


def standard_deviation(values: Sequence[float], sample: bool = True) -> float:
    """Return the square root of the variance."""
    return math.sqrt(variance(values, sample))


def median(values: Sequence[float]) -> float:
    """Return the middle number, or the mean of the two in the middle."""
    _need(values, 1)
    ordered = sorted(values)
    half = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def quantile(values: Sequence[float], share: float) -> float:
    """Return the number below which a share of the numbers lies, with linear interpolation.

    Raises:
        ValueError: There are no numbers, or the share is not between 0 and 1.
    """
    _need(values, 1)
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = math.ceil(place)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def modes(values: Sequence[float]) -> list[float]:
    """Return the most frequent numbers in ascending order."""
    _need(values, 1)
    counts = Counter(values)
    most = max(counts.values())
    return sorted(value for value, count in counts.items() if count == most)


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each number, from 1; equal numbers share the mean of their ranks."""
    ordered = sorted(values)
    shared = {}
    for value in set(ordered):
        first = ordered.index(value) + 1
        shared[value] = first + (ordered.count(value) - 1) / 2
    return [shared[value] for value in values]


def histogram(values: Sequence[float], bins: int) -> list[tuple[float, float, int]]:
    """Count the numbers in bins of equal width.

    Args:
        values: The numbers.
        bins: How many bins to make between the smallest and the largest number.

    Returns:
        For each bin its start, its end and how many numbers lie in it. The end belongs to the
        next bin, the last one to the last bin. If all numbers are equal, there is one bin.

    Raises:
        ValueError: There are no numbers, or fewer than one bin.
    """
    _need(values, 1)
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    low, high = min(values), max(values)
    if low == high:
        return [(low, high, len(values))]
    width = (high - low) / bins
    counts = [0] * bins
    for value in values:
        index = int((value - low) / width)
        counts[min(index, bins - 1)] += 1
    return [(low + i * width, low + (i + 1) * width, count) for i, count in enumerate(counts)]
