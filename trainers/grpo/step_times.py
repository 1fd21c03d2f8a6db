"""Time of a training step by part."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["PARTS", "StepTimes"]

PARTS = (
    "generation", "environments", "logprobs", "update", "optimizer", "validation", "rest",
)  # fmt: skip
"""Parts of a step: the engine; environments that the engine waits for; log-probabilities of the old
and the reference policy; forward and backward passes; clipping and the optimiser; validation; and
all else."""


class StepTimes:
    """A timer with several parts, exactly one of which runs at any time.

    A part that begins within another stops it for as long as it lasts, so that no second is counted
    twice and the parts of a step add up to its length.
    """

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(PARTS, 0.0)
        self._running = ["rest"]
        self._since = time.perf_counter()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time of a block as one of :data:`PARTS`."""
        self._turn()
        self._running.append(name)
        try:
            yield
        finally:
            self._turn()
            self._running.pop()

    def move(self, source: str, target: str, seconds: float) -> None:
        """Move seconds from one part to another, as far as the first has them.

        For parts that report their duration afterwards.
        """
        self._turn()
        # Work that overlaps other work can last longer than the part it is taken from.
        moved = max(0.0, min(seconds, self._seconds[source]))
        self._seconds[source] -= moved
        self._seconds[target] += moved

    def take(self) -> dict[str, float]:
        """Return the seconds of each part since the last call, and reset them."""
        self._turn()
        seconds, self._seconds = self._seconds, dict.fromkeys(PARTS, 0.0)
        return seconds

    def _turn(self) -> None:
        """Add what has passed to the part that runs."""
        time_now = time.perf_counter()
        self._seconds[self._running[-1]] += time_now - self._since
        self._since = time_now
