"""Waits that another thread can interrupt: for a response, and before a retry."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

from agentgym.errors import PolicyFailure

Result = TypeVar("Result")


class Waits:
    """The waits of any number of threads, which `interrupt` ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[SimpleQueue[Callable[[], object]]] = set()

    def run(self, function: Callable[[], Result]) -> Result:
        """Call a function, and leave it alone if the wait is ended: its result is lost then.

        Raises:
            PolicyFailure: The wait was ended.
        """
        results: list[Result] = []
        errors: list[BaseException] = []
        mailbox = self._begin()

        def call() -> None:
            try:
                results.append(function())
            except BaseException as error:  # is raised where the result was to be used
                errors.append(error)
            # Who waits calls what arrives in the queue: this goes on, `_raise` ends the wait.
            mailbox.put(lambda: None)

        # Nothing can end a request that waits in the operating system, so that a process that is
        # to end must not wait for the thread.
        threading.Thread(target=call, name="agentgym-request", daemon=True).start()
        try:
            mailbox.get()()
        finally:
            self._end(mailbox)
        if errors:
            raise errors[0]
        return results[0]

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds.

        Raises:
            PolicyFailure: The wait was ended.
        """
        mailbox = self._begin()
        try:
            mailbox.get(timeout=max(seconds, 0.0))()
        except Empty:
            return
        finally:
            self._end(mailbox)

    def interrupt(self) -> None:
        """Interrupt all current waits; later ones are not affected."""
        with self._lock:
            for mailbox in self._waiting:
                mailbox.put(_raise)

    def _begin(self) -> SimpleQueue[Callable[[], object]]:
        mailbox: SimpleQueue[Callable[[], object]] = SimpleQueue()
        with self._lock:
            self._waiting.add(mailbox)
        return mailbox

    def _end(self, mailbox: SimpleQueue[Callable[[], object]]) -> None:
        with self._lock:
            self._waiting.discard(mailbox)


def _raise() -> None:
    raise PolicyFailure("expected an answer of the model, but the wait for it was interrupted")
