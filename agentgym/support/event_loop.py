"""An event loop in a separate thread, for synchronous code that waits for coroutines.

All callers share the open connections of the coroutines, and threads wait for them concurrently.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import CancelledError, Future, wait
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakSet

from agentgym.errors import PolicyFailure

POLL = 0.05
"""Seconds between two looks whether a wait is to be ended."""
GRACE = 2.0
"""Seconds that coroutines have to clean up when their loop ends."""

Result = TypeVar("Result")


class EventLoop:
    """An event loop in a separate thread, which starts with the first coroutine."""

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
                self._loop.set_task_factory(_begun)
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
                "expected an answer of a coroutine, but the wait for it was interrupted"
            ) from None
        finally:
            future.cancel()  # if Ctrl-C came while it waited
            with self._lock:
                del self._running[future]

    def interrupt(self, owner: object = None) -> None:
        """End all present waits for coroutines of an owner, from any thread; later ones go on."""
        with self._lock:
            futures = [future for future, its in self._running.items() if its is owner]
        for future in futures:  # outside of the lock, which whoever waits takes at the end
            future.cancel()

    def run_episode(
        self, coroutine: Coroutine[Any, Any, Result], cancelled: Callable[[], bool] | None = None
    ) -> Result:
        """Run a coroutine as `run` does, and end the tasks that it leaves behind.

        Raises:
            PolicyFailure: The wait was ended, and the coroutine with it.
        """
        return self.run(_with_its_tasks(coroutine), cancelled=cancelled)

    def answers(self) -> bool:
        """Return whether the loop is free to run something, and not held by a coroutine."""
        with self._lock:
            if self._loop is None:
                return True
            answered = threading.Event()
            self._loop.call_soon_threadsafe(answered.set)
        return answered.wait(POLL)

    def close(self) -> None:
        """End what still runs, and stop the thread; calling it twice is allowed."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_end_others(), loop)
            thread.join(2 * GRACE)
            if not thread.is_alive():  # else a coroutine holds it, and ends with the process
                loop.close()


class _SharedLoops:
    """The loops on which async agents of a process play."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loops: list[EventLoop] = []
        self._process = 0

    def take(self) -> EventLoop:
        """Return a loop that is free to run something: nearly always the same."""
        with self._lock:
            if self._process != os.getpid():  # threads do not follow a process that was forked
                self._loops, self._process = [], os.getpid()
            for loop in self._loops:
                if loop.answers():
                    return loop
            self._loops.append(EventLoop())
            return self._loops[-1]


_SHARED = _SharedLoops()


def shared_event_loop() -> EventLoop:
    """Return the event loop of this process on which async agents play their episodes.

    Clients that agents keep open belong to a loop, and fail when it is closed: it never is. Another
    one takes its place for new episodes while an agent holds it, as one that sleeps without await.
    """
    return _SHARED.take()


_TASKS: ContextVar[WeakSet[asyncio.Future[Any]] | None] = ContextVar("tasks", default=None)
"""Tasks that the present episode has begun."""


def _begun(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    """Start a task, and record its owner."""
    task = asyncio.Task(coroutine, loop=loop, **options)
    if (tasks := _TASKS.get()) is not None:
        tasks.add(task)
    return task


async def _with_its_tasks(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await a coroutine, then end the tasks that it has begun and left."""
    tasks: WeakSet[asyncio.Future[Any]] = WeakSet()
    _TASKS.set(tasks)
    try:
        return await coroutine
    finally:
        await _end(set(tasks) - {asyncio.current_task()})


async def _end(tasks: Collection[asyncio.Future[Any] | None]) -> None:
    """Cancel tasks, and wait until they have cleaned up."""
    unfinished = [task for task in tasks if task is not None]
    for task in unfinished:
        task.cancel()
    if unfinished:
        finished, _ = await asyncio.wait(unfinished, timeout=GRACE)
        for task in finished:
            _ = task.cancelled() or task.exception()  # retrieve it, or asyncio logs an error


async def _end_others() -> None:
    """End all other tasks of the loop, so that they can clean up, and then the loop."""
    loop = asyncio.get_running_loop()
    try:
        await _end(asyncio.all_tasks() - {asyncio.current_task()})
        await loop.shutdown_asyncgens()
    finally:
        loop.stop()
