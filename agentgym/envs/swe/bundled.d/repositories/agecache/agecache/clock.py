"""Where a cache gets its time from."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]
"""Returns the present time in seconds from any beginning; it must not run backwards."""


class ManualClock:
    """A clock that stands still until it is told to go on.

    Args:
        now: The time at the beginning.
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the present time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Go on by some seconds; ValueError if they are negative."""
        if seconds < 0:
            raise ValueError(f"a clock cannot go back, got {seconds}")
        self.now += seconds
