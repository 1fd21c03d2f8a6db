"""Progress as lines, where the output is no terminal: now and then, and at least once a minute.

A line is ``[description] 3/24  measurements  left 120 s``. While nothing ends, a thread writes how
long that has lasted, and how many tokens a second came meanwhile if somebody counts them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["ProgressLines"]

LATEST = 60.0
"""Seconds after which a line comes in any case."""
POLL = 5.0
"""Seconds between two looks at whether it is time for one."""


class ProgressLines:
    """The lines of one piece of work after another.

    Args:
        write: Prints a line; called from several threads, one at a time.
        soonest: Minimum interval between two lines in seconds, except for the last one.
    """

    def __init__(self, write: Callable[[str], None], soonest: float = 10.0) -> None:
        self._write, self._soonest = write, soonest
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.begin("start", 1)

    def start(self) -> None:
        """Write a line whenever a minute has brought none, until :meth:`stop`."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="agentgym-progress")
        self._thread.start()

    def stop(self) -> None:
        """Stop writing lines by itself; may be called twice."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def begin(self, description: str, total: int, completed: int = 0) -> None:
        """Begin a piece of work of ``total`` parts, of which some are done."""
        with self._lock:
            self._description, self._total = description, total
            self._first = self._completed = completed
            self._start_time = self._moved = self._last_line = time.monotonic()
            self._values, self._tokens = "", 0

    @property
    def due(self) -> bool:
        """Whether an update now would be written."""
        return time.monotonic() - self._last_line >= self._soonest

    def update(self, completed: int, values: str = "") -> None:
        """Record the progress with measurements; write a line if it is time, or at the end."""
        with self._lock:
            current_time = time.monotonic()
            self._completed, self._values, self._moved = completed, values, current_time
            if current_time - self._last_line >= self._soonest or completed >= self._total:
                self._say(current_time, values)

    def show(self, completed: int, values: str) -> None:
        """Write a line if there was none for a minute, even without progress."""
        with self._lock:
            current_time = time.monotonic()
            if completed != self._completed:
                self._completed, self._moved = completed, current_time
            if current_time - self._last_line >= LATEST - POLL:
                self._say(current_time, values, f"after {current_time - self._moved:.0f} s")

    def count(self, tokens: int) -> None:
        """Count tokens that have come."""
        with self._lock:
            self._tokens += tokens

    def say_if_silent(self) -> None:
        """Write a line if there was none for nearly a minute."""
        with self._lock:
            current_time = time.monotonic()
            silent = current_time - self._last_line
            if silent >= LATEST - POLL:
                speed = f"tokens_s {self._tokens / silent:,.0f}" if self._tokens else self._values
                self._say(current_time, speed, f"after {current_time - self._moved:.0f} s")

    def _watch(self) -> None:
        """Look now and then whether it is time for a line."""
        while not self._stopped.wait(POLL):
            self.say_if_silent()

    def _say(self, current_time: float, *values: str) -> None:
        """Write a line, with the time left if it is known."""
        self._last_line, self._tokens = current_time, 0
        place = f"{self._completed}/{self._total}"
        if self._total == 1:
            place = "done" if self._completed else ""
        parts = (f"[{self._description}] {place}".rstrip(), *values, self._time_left(current_time))
        self._write("  ".join(filter(None, parts)))

    def _time_left(self, current_time: float) -> str:
        """Write the time left by the time that a part took so far, or nothing if it has passed."""
        completed = self._completed - self._first
        if completed <= 0 or self._total == 1:
            return ""
        seconds_left = (
            (self._moved - self._start_time) / completed * (self._total - self._completed)
        )
        seconds_left -= current_time - self._moved
        if seconds_left < 0 and self._completed < self._total:
            return ""
        return f"left {max(0.0, seconds_left):.0f} s"
