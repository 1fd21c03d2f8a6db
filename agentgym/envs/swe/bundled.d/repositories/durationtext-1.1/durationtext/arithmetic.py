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
    return _steps(milliseconds, unit, step)


def ceil_to(milliseconds: int, unit: str, step: int = 1) -> int:
    """Round up (towards infinity) to a multiple of ``step`` units."""
    return -_steps(-milliseconds, unit, step)


def round_to(milliseconds: int, unit: str, step: int = 1) -> int:
    """Round to the nearest multiple of ``step`` units; halves go away from zero."""
    rounded = _steps(abs(milliseconds), unit, step, half=True)
    return rounded if milliseconds >= 0 else -rounded


def _steps(milliseconds: int, unit: str, step: int, half: bool = False) -> int:
    """Return the highest multiple of some units that is not above a duration.

    Args:
        milliseconds: The duration.
        unit: The unit.
        step: How many of them a step has.
        half: Whether half a step is added before.
    """
    if step < 1:
        raise DurationError(f"step must be at least 1, got {step}")
    length = find_unit(unit).length * step
    if half:
        return (2 * milliseconds + length) // (2 * length) * length
    return milliseconds // length * length
