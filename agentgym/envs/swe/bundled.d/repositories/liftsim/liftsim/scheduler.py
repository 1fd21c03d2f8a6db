"""A queue of events in simulated time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(order=True)
class Event:
    """A call that is due at a tick; keep it to cancel it."""

    time: int
    number: int
    call: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Keep the event from happening; nothing changes if it already has."""
        self.cancelled = True


class Scheduler:
    """Runs calls in the order of their ticks, calls of the same tick in the order of entry."""

    def __init__(self) -> None:
        self.now = 0
        self._queue: list[Event] = []
        self._entered = 0

    def at(self, time: int, call: Callable[[], None]) -> Event:
        """Schedule a call at a tick, which may be the present one but not a past one."""
        if time < self.now:
            raise ValueError(f"tick {time} is over, it is {self.now}")
        event = Event(time, self._entered, call)
        self._entered += 1
        heapq.heappush(self._queue, event)
        return event

    def after(self, delay: int, call: Callable[[], None]) -> Event:
        """Schedule a call some ticks from now."""
        return self.at(self.now + delay, call)

    def every(self, period: int, call: Callable[[], bool]) -> None:
        """Repeat a call, the first time after one period, until it returns False."""
        if period < 1:
            raise ValueError(f"a period is at least one tick, got {period}")

        def again() -> None:
            if call():
                self.after(period, again)

        self.after(period, again)

    @property
    def pending(self) -> int:
        """Number of events that are still to happen."""
        return sum(not event.cancelled for event in self._queue)

    def step(self) -> bool:
        """Let the next event happen; return whether there was one."""
        while self._queue:
            event = heapq.heappop(self._queue)
            if event.cancelled:
                continue
            self.now = event.time
            event.call()
            return True
        return False

    def run(self, until: int | None = None) -> int:
        """Let events happen until none is left.

        Args:
            until: The last tick whose events still happen; afterwards it is this tick.

        Returns:
            The number of events that happened.
        """
        happened = 0
        while self._queue and (until is None or self._queue[0].time <= until):
            if self._queue[0].cancelled:
                heapq.heappop(self._queue)
            elif self.step():
                happened += 1
        if until is not None:
            self.now = max(self.now, until)
        return happened
