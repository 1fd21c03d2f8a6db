"""How a difference between two policies is put into words, by score and success together."""

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
"""Directions of the differences in score and in success -> the clause that holds of both."""


def direction(interval: Sequence[float] | None) -> int:
    """Return on which side of zero a difference lies: 1, -1, or 0 where that is not known.

    Args:
        interval: Ends of its interval; None: it has none.
    """
    if interval is None:
        return 0
    low, high = interval
    return int(low > 0) - int(high < 0)


def relation(score: int, success: int, other: str) -> str:
    """Say how a policy compares with another, such as ``does better than the warm start``.

    Args:
        score: `direction` of its score minus that of the other.
        success: `direction` of its success minus that of the other.
        other: What the other policy is called.
    """
    return _RELATIONS[score, success].format(other)


def signed(mean: float, interval: Sequence[float] | None) -> str:
    """Write a difference with its interval, if it has one."""
    if interval is None:
        return _with_sign(mean)
    low, high = map(_with_sign, interval)
    return f"{_with_sign(mean)} ({low} to {high})"


def _with_sign(value: float) -> str:
    """Write a number with its sign; what rounds to zero has the sign of zero."""
    return f"{round(value, 3) + 0.0:+.3f}"
