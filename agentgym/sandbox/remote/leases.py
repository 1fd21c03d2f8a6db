"""Leases: a client tells the server now and then which of its boxes it still uses.

A client that dies tells nothing more, and the server closes its boxes. One thread of a process
speaks for all of its boxes on a server.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

Renew = Callable[[list[str]], object]

_log = logging.getLogger(__name__)
_renewals: dict[tuple[int, str], Renewals] = {}


def renewals(address: str, renew: Renew) -> Renewals:
    """Return what renews the leases of this process on a server."""
    key = (os.getpid(), address)  # threads do not survive a fork
    return _renewals.setdefault(key, Renewals(renew))


class Renewals:
    """Renews the leases of boxes, in a thread that lives as long as there are any.

    Args:
        renew: Sends the ids of the boxes to the server.
    """

    def __init__(self, renew: Renew) -> None:
        self._renew = renew
        self._boxes: set[str] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pause = 1.0
        self._maker = os.getpid()

    def add(self, box: str, lease: float) -> None:
        """Renew the lease of a box from now on, several times while it lasts."""
        with self._changed:
            self._boxes.add(box)
            self._pause = max(0.05, lease / 4)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()

    def drop(self, box: str) -> None:
        """Renew the lease of a box no more; a fork has none, and may have inherited a held lock."""
        if self._maker != os.getpid():
            return
        with self._changed:
            self._boxes.discard(box)
            self._changed.notify_all()

    def _run(self) -> None:
        """Renew until there is nothing to renew."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._boxes, self._pause)
                if not self._boxes:
                    # Under the lock: who adds a box from now on starts another thread.
                    self._thread = None
                    return
                # The request goes without the lock: a slow server shall hold up no other box.
                boxes = sorted(self._boxes)
            try:
                self._renew(boxes)
            except Exception as error:  # the next request to a box says what is wrong
                _log.info("the leases of %d boxes were not renewed: %s", len(boxes), error)
