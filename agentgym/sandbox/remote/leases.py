"""Leases: a client regularly tells the server which sandboxes it still uses.

If a client dies, its leases expire, and the server closes its sandboxes. One thread of a process
renews the leases of all its sandboxes on a server.
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
    """Return the object that renews the leases of this process on a server."""
    key = (os.getpid(), address)  # threads do not survive a fork
    return _renewals.setdefault(key, Renewals(renew))


class Renewals:
    """Renews the leases of sandboxes in a thread, which ends when there are none left.

    Args:
        renew: Sends the ids of the sandboxes to the server.
    """

    def __init__(self, renew: Renew) -> None:
        self._renew = renew
        self._boxes: set[str] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pause = 1.0
        self._maker = os.getpid()

    def add(self, box: str, lease: float) -> None:
        """Start to renew the lease of a sandbox, four times per lease."""
        with self._changed:
            self._boxes.add(box)
            self._pause = max(0.05, lease / 4)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()

    def drop(self, box: str) -> None:
        """Stop renewing a lease. A fork does nothing: it may have inherited a held lock."""
        if self._maker != os.getpid():
            return
        with self._changed:
            self._boxes.discard(box)
            self._changed.notify_all()

    def _run(self) -> None:
        """Renew leases until there are none left."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._boxes, self._pause)
                if not self._boxes:
                    # Under the lock, so that a later add() starts a new thread.
                    self._thread = None
                    return
                # Send the request without the lock: a slow server must not block add() and drop().
                boxes = sorted(self._boxes)
            try:
                self._renew(boxes)
            except Exception as error:  # the next request to a sandbox raises the error
                _log.info("the leases of %d boxes were not renewed: %s", len(boxes), error)
