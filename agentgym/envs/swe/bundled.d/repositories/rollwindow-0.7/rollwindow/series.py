"""Functions of whole series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

R = TypeVar("R")


def rolling(
    values: Sequence[float],
    size: int,
    function: Callable[[Sequence[float]], R],
    step: int = 1,
    partial: bool = False,
) -> list[R]:
    """Apply a function to every window of a series.

    Args:
        values: The series.
        size: How many values a window has.
        function: Gets the values of a window.
        step: How far each window is from the one before.
        partial: Whether windows at the beginning that are not yet full count, too.
    """
    if size < 1 or step < 1:
        raise ValueError(f"size and step are at least 1, got {size} and {step}")
    first = 1 if partial else size
    return [
        function(values[max(end - size, 0) : end]) for end in range(first, len(values) + 1, step)
    ]


def differences(values: Sequence[float], lag: int = 1) -> list[float]:
    """Subtract from each value the one that stands ``lag`` places before it."""
    if lag < 1:
        raise ValueError(f"lag is at least 1, got {lag}")
    return [values[place] - values[place - lag] for place in range(lag, len(values))]


def downsample(values: Sequence[float], count: int) -> list[float]:
    """Replace a series by the means of ``count`` parts that are as equally long as possible."""
    if count < 1:
        raise ValueError(f"count is at least 1, got {count}")
    count = min(count, len(values))
    bounds = [part * len(values) // count for part in range(count + 1)] if count else []
    return [sum(values[start:stop]) / (stop - start) for start, stop in pairwise(bounds)]


def crossings(values: Sequence[float], level: float, slack: float = 0.0) -> list[tuple[int, str]]:
    """Find where a series crosses a level.

    A value is above if it is more than ``level + slack`` and below if it is less than
    ``level - slack``; between them it changes nothing (hysteresis).

    Returns:
        The places of the crossings with ``up`` or ``down``.
    """
    sides = [
        (place, "up" if value > level else "down")
        for place, value in enumerate(values)
        if abs(value - level) > slack
    ]
    return [now for before, now in pairwise(sides) if before[1] != now[1]]
