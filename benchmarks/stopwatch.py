"""A stopwatch for calls and a gauge of memory, shared by benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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


def wall(action: Callable[[], Any]) -> float:
    """Return the seconds that one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def resident() -> float:
    """Return the resident memory in megabytes; Linux only."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    return 0.0
