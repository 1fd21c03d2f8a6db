"""Call a tool, sync or async, within a time limit, and answer with text whatever it does."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.core.guard import raise_if_meant_for_us, words
from agentgym.core.outcome import bounded
from agentgym.errors import EnvFailure, PolicyFailure
from agentgym.support.event_loop import GRACE, EventLoop

DONE = "done"
"""What a tool answers that returns nothing."""


class ToolAnswer(NamedTuple):
    """What a tool answered."""

    text: str
    """For the agent."""
    failed: bool = False
    """Whether it raised, or took too long."""


class _Late(Exception):
    """A call took too long."""


class _Worker:
    """A thread that makes one call after the other, since to start one costs more than most calls.

    One that is late, or whose owner is gone, ends when its call does.
    """

    def __init__(self, owner: object) -> None:
        self._calls: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        # Once called it is forgotten, and with it what a late call returns.
        self.end = weakref.finalize(owner, self._calls.put, None)
        self._results: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="agentgym-tool", daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], Any], timeout: float) -> tuple[Any, BaseException | None]:
        """Return what a call returns, and what it raises.

        Raises:
            Empty: It takes longer than ``timeout`` seconds.
        """
        self._calls.put(call)
        return self._results.get(timeout=timeout)

    def alive(self) -> bool:
        """Return whether the thread runs; in a forked process it does not."""
        return self._thread.is_alive()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            value: Any = None
            failure: BaseException | None = None
            try:
                value = call()
            except BaseException as error:
                failure = error
            self._results.put((value, failure))
            del call, value, failure  # An idle thread keeps nothing of an episode.


class Caller:
    """Calls the tools of one environment.

    A coroutine that takes too long is cancelled; one that never awaits is left behind with its
    loop. A thread cannot be ended: a plain function goes on in the background until it returns, and
    `busy` says so.

    Args:
        timeout: Seconds that a call may take; None: as long as it likes, and plain functions run in
            the calling thread.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._loop: EventLoop | None = None
        self._worker: _Worker | None = None
        self._late: _Worker | None = None

    @property
    def busy(self) -> bool:
        """Whether a call that took too long still runs."""
        return self._late is not None and self._late.alive()

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool; an exception of it is its answer.

        Raises:
            EnvFailure: The tool reports that a resource has failed, which is not the agent's fault.
        """
        try:
            if inspect.iscoroutinefunction(function):
                return ToolAnswer(write_result(self.wait(function(**arguments), self._timeout)))
            if self._timeout is None:
                return ToolAnswer(write_result(function(**arguments)))
            return ToolAnswer(write_result(self._in_thread(function, arguments, self._timeout)))
        except _Late:
            return ToolAnswer(f"error: the call took longer than {self._timeout:g} seconds", True)
        except EnvFailure:
            raise
        except BaseException as error:
            raise_if_meant_for_us(error)
            return ToolAnswer(f"error: {words(error)}", True)

    def wait(self, awaitable: Awaitable[Any], timeout: float | None = None) -> Any:
        """Return what a coroutine returns.

        Args:
            awaitable: The coroutine.
            timeout: Seconds after which it is cancelled.
        """
        self._loop = loop = self._loop or EventLoop()
        end = None if timeout is None else time.monotonic() + timeout + 2 * GRACE
        try:
            # The second limit is for coroutines that hold the loop, which nothing can cancel.
            value, error, late = loop.run(
                _limited(awaitable, timeout),
                cancelled=None if end is None else lambda: time.monotonic() > end,
            )
        except PolicyFailure:
            self._loop = None
            raise _Late from None
        if late:
            raise _Late
        if error is not None:
            raise error
        return value

    def forget(self) -> None:
        """Leave a call that still runs to itself: the tools of the next episode are others."""
        self._late = None

    def close(self) -> None:
        """End the event loop and the thread; calling it twice is allowed."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def _in_thread(
        self, function: Callable[..., Any], arguments: Mapping[str, Any], timeout: float
    ) -> Any:
        worker, self._worker = self._worker, None
        if worker is None or not worker.alive():
            worker = _Worker(self)
        try:
            value, error = worker.run(lambda: function(**arguments), timeout)
        except BaseException as stopped:  # Late, or the wait was interrupted.
            worker.end()
            self._late = worker
            raise (_Late if isinstance(stopped, Empty) else stopped) from None
        if self._worker is None:
            self._worker = worker
        else:  # That of a call inside this one.
            worker.end()
        if error is not None:
            raise error
        return value

    def __getstate__(self) -> dict[str, Any]:
        """Travel without threads, which begin anew."""
        return {**self.__dict__, "_loop": None, "_worker": None, "_late": None}


async def _limited(
    awaitable: Awaitable[Any], timeout: float | None
) -> tuple[Any, BaseException | None, bool]:
    """Return the value or the error of a coroutine, and whether it took too long."""
    task = asyncio.ensure_future(_caught(awaitable))
    try:
        finished, _ = await asyncio.wait({task}, timeout=timeout)
        if not finished:
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
            return None, None, True
    finally:
        task.cancel()
    if task.cancelled():
        return None, asyncio.CancelledError("the tool cancelled itself"), False
    return (*task.result(), False)


async def _caught(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Return the value or the error of a coroutine: a SystemExit would end the event loop."""
    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


def write_result(value: object) -> str:
    """Write what a tool returns: text as it is, all else as JSON where that is possible."""
    if value is None:
        return DONE
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            value = str(value)
    return bounded(value, OBSERVATION_LENGTH)
