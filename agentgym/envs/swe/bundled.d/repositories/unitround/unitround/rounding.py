"""Rounding by rule."""

from __future__ import annotations

import math
from fractions import Fraction

MODES = ("half_up", "half_even", "half_down", "up", "down", "floor", "ceiling")


def round_to(value: Fraction, step: Fraction | int, mode: str = "half_up") -> Fraction:
    """Round to a multiple of a step.

    Args:
        value: The number.
        step: The distance of the numbers to choose from.
        mode: ``half_up``, ``half_down`` and ``half_even`` take the nearest multiple and differ
            in where halves go: away from zero, towards zero, to the even multiple. ``up`` goes
            away from zero, ``down`` towards it, ``floor`` and ``ceiling`` towards the infinities.

    Returns:
        The rounded number.

    Raises:
        ValueError: The step is not positive or the mode is unknown.
    """
    if step <= 0:
        raise ValueError(f"step must be positive, got {step}")
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    scaled = value / step
    if mode == "floor":
        return Fraction(math.floor(scaled) * step)
    if mode == "ceiling":
        return Fraction(math.ceil(scaled) * step)
    whole = math.floor(abs(scaled))
    rest = abs(scaled) - whole
    if _goes_up(whole, rest, mode):
        whole += 1
    return Fraction((whole if value >= 0 else -whole) * step)


def _goes_up(whole: int, rest: Fraction, mode: str) -> bool:
    """Say whether a positive number goes to the next multiple."""
    half = Fraction(1, 2)
    if mode == "up":
        return rest > 0
    if mode == "down":
        return False
    if rest == half:
        return mode == "half_up" or (mode == "half_even" and whole % 2 == 1)
    return rest > half


def round_significant(value: Fraction, digits: int, mode: str = "half_up") -> Fraction:
    """Round to a number of significant digits.

    Args:
        value: The number.
        digits: How many digits to keep, from the first one that is not 0.
        mode: As for ``round_to``.

    Returns:
        The rounded number.

    Raises:
        ValueError: ``digits`` is less than 1 or the mode is unknown.
    """
    if digits < 1:
        raise ValueError(f"digits must be at least 1, got {digits}")
    if value == 0:
        return Fraction(0)
    return round_to(value, Fraction(10) ** (magnitude(value) - digits + 1), mode)


def magnitude(value: Fraction) -> int:
    """Return the power of ten of the first digit: 2 for 345, -1 for 0.2."""
    power = 0
    rest = abs(value)
    while rest >= 10:
        rest /= 10
        power += 1
    while rest < 1:
        rest *= 10
        power -= 1
    return power
