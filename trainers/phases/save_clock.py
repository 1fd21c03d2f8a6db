"""A clock for checkpoints by time, so that a kill loses minutes and not hours.

Such checkpoints decide only where a killed run resumes: the clock changes no result.
"""

from __future__ import annotations

import time

from trainers import processes

__all__ = ["SaveClock"]

SHARE = 0.05
"""Maximum share of the time for saving by time: a large model is saved less often."""


class SaveClock:
    """The time since the last checkpoint.

    Args:
        minutes: Minutes between two checkpoints; 0: none is due by time.
        together: Whether all processes save together; the main one then decides.
    """

    def __init__(self, minutes: float, *, together: bool) -> None:
        self._seconds, self._together = 60 * minutes, together
        self._saved = time.monotonic()
        self._began = self._took = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        if not self._seconds:
            return False
        late = time.monotonic() - self._saved >= max(self._seconds, self._took / SHARE)
        return processes.broadcast(late) if self._together else late

    def __enter__(self) -> SaveClock:
        """Begin a checkpoint, by time or not."""
        self._began = time.monotonic()
        return self

    def __exit__(self, *error: object) -> None:
        """Count from here to the next one."""
        self._saved = time.monotonic()
        self._took = self._saved - self._began
