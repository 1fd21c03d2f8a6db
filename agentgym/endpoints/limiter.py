"""A rate limit shared by the policies of several threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Space requests evenly, ``60 / per_minute`` seconds apart.

    Args:
        per_minute: Maximum number of requests per minute; None: no limit.
        clock: Returns the seconds since some moment.
        sleep: Waits for some seconds.
    """

    def __init__(
        self,
        per_minute: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._distance = 60.0 / per_minute if per_minute else 0.0
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._next = clock()

    def wait(self, sleep: Callable[[float], None] | None = None) -> None:
        """Wait until a request may begin; threads are let through one by one.

        Args:
            sleep: Waits in the place of the limiter's own.
        """
        if not self._distance:
            return
        with self._lock:
            now = self._clock()
            begin = max(now, self._next)
            self._next = begin + self._distance
        # Sleep outside of the lock: others book their places meanwhile.
        if begin > now:
            (sleep or self._sleep)(begin - now)
