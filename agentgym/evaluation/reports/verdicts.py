"""Sentences about the difference of two policies in score and success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_RELATIONS: Mapping[tuple[int, int], str] = {
    (1, 1): "does better than {}",
    (0, 1): "solves more tasks than {}, with level scores",
    (-1, 1): "solves more tasks than {}, at a lower score",
    (1, 0): "scores higher than {}, with no measurable difference in success",
    (0, 0): "does not differ measurably from {}",
    (-1, 0): "scores lower than {}, with no measurable difference in success",
    (1, -1): "solves fewer tasks than {}, at a higher score",
    (0, -1): "solves fewer tasks than {}, with level scores",
    (-1, -1): "does worse than {}",
}
"""Directions of the differences in score and in success -> a clause that is true of both."""


def direction(interval: Sequence[float] | None) -> int:
    """Return the sign of a difference: 1, -1, or 0 if it is not significant.

    Args:
        interval: Ends of its interval; None: no interval.
    """
    if interval is None:
        return 0
    low, high = interval
    return int(low > 0) - int(high < 0)


def relation(score: int, success: int, rival: str) -> str:
    """Describe how a policy compares with another, such as ``does better than the warm start``.

    Args:
        score: `direction` of the difference in score.
        success: `direction` of the difference in success.
        rival: Name of the other policy.
    """
    return _RELATIONS[score, success].format(rival)


def signed(mean: float, interval: Sequence[float] | None) -> str:
    """Format a difference with its interval, if it has one."""
    if interval is None:
        return _with_sign(mean)
    low, high = map(_with_sign, interval)
    return f"{_with_sign(mean)} ({low} to {high})"


def _with_sign(value: float) -> str:
    """Format a number with its sign; negative numbers that round to zero become ``+0.000``."""
    return f"{round(value, 3) + 0.0:+.3f}"
