"""Windows of time."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from itertools import pairwise


class TimeWindow:
    """The events of the last seconds; each carries its own time.

    Args:
        span: Length of the window. An event that is exactly this old no longer counts.
        late: How much older than the newest one an event may be and still be taken in.
    """

    def __init__(self, span: float, late: float = 0) -> None:
        if span <= 0 or late < 0:
            raise ValueError(f"span is positive and late not negative, got {span} and {late}")
        self.span = span
        self.late = late
        self.newest: float | None = None
        self._events: deque[tuple[float, float]] = deque()

    def push(self, time: float, value: float = 1.0) -> bool:
        """Take in an event; return False if it is too late to count."""
        if self.newest is not None and time < self.newest - self.late:
            return False
        place = bisect_right(self._events, time, key=lambda event: event[0])
        self._events.insert(place, (time, value))
        self.advance(time)
        return True

    def advance(self, time: float) -> None:
        """Let time pass without an event."""
        if self.newest is None or time > self.newest:
            self.newest = time
        while self._events and self._events[0][0] <= self.newest - self.span:
            self._events.popleft()

    @property
    def count(self) -> int:
        """Number of events in the window."""
        return len(self._events)

    @property
    def total(self) -> float:
        """Sum of their values."""
        return sum(value for _, value in self._events)

    @property
    def rate(self) -> float:
        """Sum of their values per second."""
        return self.total / self.span

    def values(self) -> list[float]:
        """List the values in the order of their times."""
        return [value for _, value in self._events]

    def gaps(self) -> list[float]:
        """List the times between events that follow each other."""
        times = [time for time, _ in self._events]
        return [later - earlier for earlier, later in pairwise(times)]
