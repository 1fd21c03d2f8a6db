"""An event loop in a thread of its own, for whoever is no coroutine and waits for some.

Connections that coroutines keep open serve all who wait, and threads wait for them together.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future, wait
from typing import Any, TypeVar

from agentgym.errors import PolicyFailure

POLL = 0.05
"""Seconds between two looks whether a wait is to be ended."""
GRACE = 2.0
"""Seconds that coroutines have to clean up when their loop ends."""

Result = TypeVar("Result")


class EventLoop:
    """An event loop in a thread of its own, which begins with the first coroutine."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: dict[Future[Any], object] = {}

    def run(
        self,
        coroutine: Coroutine[Any, Any, Result],
        owner: object = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Result:
        """Run a coroutine to its end, and return its result or raise its error.

        Args:
            coroutine: The coroutine.
            owner: For whom it runs, see `interrupt`.
            cancelled: Asked again and again whether to stop waiting.

        Raises:
            PolicyFailure: The wait was ended, and the coroutine with it.
        """
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="agentgym-event-loop", daemon=True
                )
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            self._running[future] = owner
        try:
            # Poll: `cancelled` is a mere function, which cannot wake this thread.
            while cancelled is not None and not wait([future], POLL).done:
                if cancelled():
                    future.cancel()
            return future.result()
        except CancelledError:
            raise PolicyFailure(
                "expected an answer of a coroutine, but the wait for it was ended"
            ) from None
        finally:
            future.cancel()  # if Ctrl-C came while it waited
            with self._lock:
                del self._running[future]

    def interrupt(self, owner: object = None) -> None:
        """End all present waits for coroutines of an owner, from any thread; later ones go on."""
        with self._lock:
            found = [future for future, its in self._running.items() if its is owner]
        for future in found:  # outside of the lock, which whoever waits takes at the end
            future.cancel()

    def close(self) -> None:
        """End what still runs, and stop the thread; calling it twice is allowed."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_end_others(), loop)
            thread.join(2 * GRACE)
            if not thread.is_alive():  # else a coroutine holds it, and ends with the process
                loop.close()


async def _end_others() -> None:
    """End all other tasks of the loop, so that they can clean up, and then the loop."""
    loop = asyncio.get_running_loop()
    try:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            ended, _ = await asyncio.wait(others, timeout=GRACE)
            for task in ended:
                _ = task.cancelled() or task.exception()  # else it is logged that nobody looked
        await loop.shutdown_asyncgens()
    finally:
        loop.stop()
