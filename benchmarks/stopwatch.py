"""A stopwatch for calls, shared by benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Stopwatch:
    """Time of one kind of call."""

    clock: Callable[[], float]
    seconds: float = 0.0
    calls: int = 0

    def __call__(self, call: Callable[[], T]) -> T:
        """Make a call and time it."""
        started = self.clock()
        result = call()
        self.seconds += self.clock() - started
        self.calls += 1
        return result

    @property
    def milliseconds(self) -> float | None:
        """Mean time of a call."""
        return round(1000 * self.seconds / self.calls, 4) if self.calls else None

    @property
    def rate(self) -> float:
        """Calls per second."""
        return self.calls / max(self.seconds, 1e-9)
