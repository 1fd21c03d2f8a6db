"""Statistics over the last values."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
from fractions import Fraction

from rollwindow.ring import Ring


class _Rolling:
    """What statistics over a window share: they remember the values that count."""

    def __init__(self, size: int) -> None:
        self.window: Ring[float] = Ring(size)

    def push(self, value: float) -> float:
        """Take in a value and return the statistic."""
        if math.isnan(value):
            raise ValueError("a window takes no NaN")
        leaving = self.window.push(value)
        if leaving is not None:
            self._remove(leaving)
        self._insert(value)
        return self.value

    def extend(self, values: Iterable[float]) -> float:
        """Take in several values and return the statistic."""
        for value in values:
            self.push(value)
        return self.value

    def clear(self) -> None:
        """Forget all values."""
        for value in self.window:
            self._remove(value)
        self.window.clear()

    @property
    def value(self) -> float:
        """The statistic; NaN before the first value."""
        return self._compute() if len(self.window) else math.nan

    def _insert(self, value: float) -> None:
        raise NotImplementedError

    def _remove(self, value: float) -> None:
        raise NotImplementedError

    def _compute(self) -> float:
        raise NotImplementedError


class RollingMean(_Rolling):
    """The mean of the last values; the sum is exact, so that no error adds up.

    Args:
        size: How many values count.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._sum = Fraction(0)

    def _insert(self, value: float) -> None:
        self._sum += Fraction(value)

    def _remove(self, value: float) -> None:
        self._sum -= Fraction(value)

    def _compute(self) -> float:
        return float(self._sum / len(self.window))


class RollingVariance(_Rolling):
    """The variance of the last values.

    Args:
        size: How many values count.
        sample: Whether to divide by n - 1 instead of n; one value has then no variance (NaN).
    """

    def __init__(self, size: int, sample: bool = True) -> None:
        super().__init__(size)
        self.sample = sample
        self._sum = Fraction(0)
        self._squares = Fraction(0)

    def _insert(self, value: float) -> None:
        self._sum += Fraction(value)
        self._squares += Fraction(value) ** 2

    def _remove(self, value: float) -> None:
        self._sum -= Fraction(value)
        self._squares -= Fraction(value) ** 2

    def _compute(self) -> float:
        count = len(self.window)
        divisor = count - 1 if self.sample else count
        if divisor == 0:
            return math.nan
        return float((self._squares - self._sum**2 / count) / divisor)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.value)

    def score(self, value: float) -> float:
        """Tell how many deviations a value is away from the mean; 0.0 if there is no deviation."""
        if not self.deviation > 0:  # nor is it where there is none, which is NaN
            return 0.0
        return (value - self.mean) / self.deviation

    @property
    def mean(self) -> float:
        """The mean; NaN before the first value."""
        return float(self._sum / len(self.window)) if len(self.window) else math.nan


class RollingMedian(_Rolling):
    """The median of the last values, or any other quantile.

    Args:
        size: How many values count.
        quantile: Which part of the values lies below; between two values it is interpolated.
    """

    def __init__(self, size: int, quantile: float = 0.5) -> None:
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is between 0 and 1, got {quantile}")
        super().__init__(size)
        self.quantile = quantile
        self._sorted: list[float] = []

    def _insert(self, value: float) -> None:
        insort(self._sorted, value)

    def _remove(self, value: float) -> None:
        del self._sorted[bisect_left(self._sorted, value)]

    def _compute(self) -> float:
        place = self.quantile * (len(self._sorted) - 1)
        low = math.floor(place)
        high = min(low + 1, len(self._sorted) - 1)
        share = place - low
        return self._sorted[low] * (1 - share) + self._sorted[high] * share


class RollingExtremes:
    """The least and the greatest of the last values, kept in monotonic queues.

    Args:
        size: How many values count.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"size is at least 1, got {size}")
        self.size = size
        self._count = 0
        self._rising: deque[tuple[int, float]] = deque()
        self._falling: deque[tuple[int, float]] = deque()

    def push(self, value: float) -> tuple[float, float]:
        """Take in a value and return the least and the greatest."""
        while self._rising and self._rising[-1][1] >= value:
            self._rising.pop()
        while self._falling and self._falling[-1][1] <= value:
            self._falling.pop()
        for queue in (self._rising, self._falling):
            queue.append((self._count, value))
            if queue[0][0] <= self._count - self.size:
                queue.popleft()
        self._count += 1
        return self.least, self.greatest

    @property
    def least(self) -> float:
        """The least value; NaN before the first one."""
        return self._rising[0][1] if self._rising else math.nan

    @property
    def greatest(self) -> float:
        """The greatest value; NaN before the first one."""
        return self._falling[0][1] if self._falling else math.nan

    @property
    def spread(self) -> float:
        """The difference of both."""
        return self.greatest - self.least


class Ewma:
    """The exponentially weighted mean: each value counts less than the one after it.

    Args:
        alpha: The weight of a new value, more than 0 and at most 1.
        unbiased: Whether the first values are weighted as if there had been none before them,
            instead of starting from the first value.
    """

    def __init__(self, alpha: float, unbiased: bool = False) -> None:
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha is more than 0 and at most 1, got {alpha}")
        self.alpha = alpha
        self.unbiased = unbiased
        self._mean = 0.0
        self._weight = 0.0

    @classmethod
    def from_half_life(cls, count: float, unbiased: bool = False) -> Ewma:
        """Choose alpha so that a value counts half after some more values."""
        return cls(1 - 0.5 ** (1 / count), unbiased)

    def push(self, value: float) -> float:
        """Take in a value and return the mean."""
        if self._weight == 0 and not self.unbiased:
            self._mean, self._weight = value, 1.0
        else:
            self._mean += self.alpha * (value - self._mean)
            self._weight += self.alpha * (1 - self._weight)
        return self.value

    @property
    def value(self) -> float:
        """The mean; NaN before the first value."""
        return self._mean / self._weight if self._weight else math.nan
