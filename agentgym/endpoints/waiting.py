"""Waits that another thread can interrupt: for a response, and before a retry."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from agentgym.errors import PolicyFailure

Result = TypeVar("Result")


class Waits:
    """The waits of any number of threads, which `interrupt` ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: set[SimpleQueue[bool]] = set()

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
            mailbox.put(False)

        # A thread, because nothing interrupts a request that waits in the operating system; a
        # daemon, because a process that ends must not wait for it.
        threading.Thread(target=call, name="agentgym-request", daemon=True).start()
        self._wait(mailbox)
        if errors:
            raise errors[0]
        return results[0]

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds.

        Raises:
            PolicyFailure: The wait was ended.
        """
        with suppress(Empty):
            self._wait(self._begin(), max(seconds, 0.0))

    def interrupt(self) -> None:
        """Interrupt all current waits; later ones are not affected."""
        with self._lock:
            for mailbox in self._waiting:
                mailbox.put(True)

    def _begin(self) -> SimpleQueue[bool]:
        """Return the mailbox of a new wait; a message says whether the wait was interrupted."""
        mailbox: SimpleQueue[bool] = SimpleQueue()
        with self._lock:
            self._waiting.add(mailbox)
        return mailbox

    def _wait(self, mailbox: SimpleQueue[bool], timeout: float | None = None) -> None:
        """Wait for a message.

        Raises:
            Empty: None arrived in time.
            PolicyFailure: The wait was interrupted.
        """
        try:
            interrupted = mailbox.get(timeout=timeout)
        finally:
            with self._lock:
                self._waiting.discard(mailbox)
        if interrupted:
            raise PolicyFailure(
                "expected an answer of the model, but the wait for it was interrupted"
            )
