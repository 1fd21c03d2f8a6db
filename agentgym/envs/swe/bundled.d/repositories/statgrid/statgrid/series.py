"""Lists of numbers in an order that matters."""

from __future__ import annotations

from collections.abc import Sequence

from statgrid.describe import mean


def cumulative(values: Sequence[float]) -> list[float]:
    """Return the sums of the first one, two, three, ... numbers."""
    sums: list[float] = []
    total = 0.0
    for value in values:
        total += value
        sums.append(total)
    return sums


def differences(values: Sequence[float], lag: int = 1) -> list[float]:
    """Return how much each number differs from the one ``lag`` places before it."""
    if lag < 1:
        raise ValueError(f"lag must be at least 1, got {lag}")
    return [values[index] - values[index - lag] for index in range(lag, len(values))]


def moving_average(values: Sequence[float], width: int) -> list[float]:
    """Return the means of ``width`` neighbours; there are ``width - 1`` fewer than numbers."""
    if width < 1:
        raise ValueError(f"width must be at least 1, got {width}")
    return [mean(values[i : i + width]) for i in range(len(values) - width + 1)]


def normalize(values: Sequence[float], low: float = 0.0, high: float = 1.0) -> list[float]:
    """Stretch numbers so that the smallest becomes ``low`` and the largest ``high``.

    Equal numbers all become ``low``.
    """
    if not values:
        return []
    smallest, spread = min(values), max(values) - min(values)
    if spread == 0:
        return [low for _ in values]
    return [low + (value - smallest) / spread * (high - low) for value in values]
