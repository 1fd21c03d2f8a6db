"""How two lists of numbers go together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from statgrid.describe import mean, ranks, variance


def _check(xs: Sequence[float], ys: Sequence[float]) -> None:
    """Refuse lists that do not make pairs."""
    if len(xs) != len(ys):
        raise ValueError(f"expected lists of one length, got {len(xs)} and {len(ys)}")
    if len(xs) < 2:
        raise ValueError(f"expected at least 2 pairs, got {len(xs)}")


def covariance(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the covariance of a sample of pairs."""
    _check(xs, ys)
    mean_x, mean_y = mean(xs), mean(ys)
    products = ((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return math.fsum(products) / (len(xs) - 1)


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the correlation of Pearson, between -1 and 1; 0 if one list is constant."""
    shared = covariance(xs, ys)
    spread = math.sqrt(variance(xs) * variance(ys))
    return max(-1.0, min(1.0, shared / spread)) if spread else 0.0


def rank_correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the correlation of Spearman: that of the ranks."""
    return correlation(ranks(xs), ranks(ys))


def linear_fit(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Return slope and intercept of the line with the least squares.

    Raises:
        ValueError: There are fewer than two pairs, or all x are equal.
    """
    _check(xs, ys)
    spread = variance(xs)
    if spread == 0:
        raise ValueError("all x are equal")
    slope = covariance(xs, ys) / spread
    return slope, mean(ys) - slope * mean(xs)
