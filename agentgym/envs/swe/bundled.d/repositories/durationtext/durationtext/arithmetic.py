"""Splitting and rounding durations."""

from __future__ import annotations

from collections.abc import Sequence

from durationtext.units import UNITS, DurationError, Unit, find_unit


def split(milliseconds: int, units: Sequence[Unit] = UNITS) -> list[tuple[int, Unit]]:
    """Return how often each unit fits into a duration, the longest first.

    Args:
        milliseconds: The duration; it must not be negative.
        units: The units to use, the longest first; what is shorter than the last one is lost.

    Returns:
        The numbers with their units; those with 0 are left out.

    Raises:
        DurationError: The duration is negative.
    """
    if milliseconds < 0:
        raise DurationError(f"cannot split a negative duration: {milliseconds}")
    parts = []
    rest = milliseconds
    for unit in units:
        number, rest = divmod(rest, unit.length)
        if number:
            parts.append((number, unit))
    return parts


def floor_to(milliseconds: int, unit: str, step: int = 1) -> int:
    """Round down (towards minus infinity) to a multiple of ``step`` units."""
    length = _step(unit, step)
    return milliseconds // length * length


def ceil_to(milliseconds: int, unit: str, step: int = 1) -> int:
    """Round up (towards infinity) to a multiple of ``step`` units."""
    length = _step(unit, step)
    return -(-milliseconds // length) * length


def round_to(milliseconds: int, unit: str, step: int = 1) -> int:
    """Round to the nearest multiple of ``step`` units; halves go away from zero."""
    length = _step(unit, step)
    rounded = (2 * abs(milliseconds) + length) // (2 * length) * length
    return rounded if milliseconds >= 0 else -rounded


def _step(unit: str, step: int) -> int:
    """Return the length of some units."""
    if step < 1:
        raise DurationError(f"step must be at least 1, got {step}")
    return find_unit(unit).length * step
