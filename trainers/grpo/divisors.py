"""How a batch of rows divides into equal parts."""

from __future__ import annotations


def largest_divisor(number: int, limit: int) -> int:
    """Return the largest divisor of a number that is not above a limit.

    Args:
        number: At least 1.
        limit: At least 1.
    """
    return next(k for k in range(min(number, limit), 0, -1) if number % k == 0)


def least_divisor(number: int) -> int:
    """Return the smallest divisor of a number that is not 1.

    Args:
        number: At least 2.
    """
    return next(k for k in range(2, number + 1) if number % k == 0)
