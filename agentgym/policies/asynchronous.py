"""Async functions and policies, played by whatever plays the others.

Their coroutines run on one event loop in a thread of its own, so that connections that they keep
open serve all episodes, and episodes that play in several threads wait for their models together.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future, wait
from functools import partial
from typing import Any, Protocol, TypeVar

from agentgym.errors import PolicyFailure
from agentgym.policies.base import (
    ModelOutput,
    PolicyWithFacts,
    PolicyWithReset,
    PolicyWithSeed,
    PolicyWithWaits,
    checked_action,
)

__all__ = ["AsyncFunction", "AsyncPlayer", "AsyncPolicy", "EventLoop"]

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


class AsyncPolicy(Protocol):
    """A policy whose ``act`` is a coroutine function."""

    async def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Choose an action; see `agentgym.policies.Policy`."""
        ...


class AsyncFunction:
    """An async function of (observation, info) as an async policy.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[[str, Mapping[str, Any]], Awaitable[str]]) -> None:
        self._function = function
        self.__wrapped__ = function  # so that `inspect.unwrap` finds what the policy is made of

    async def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Await the function; whoever plays the policy checks the answer."""
        return await self._function(observation, info)


class AsyncPlayer:
    """Play an async policy as an ordinary one.

    Args:
        policy: The policy.
        loop: Where its coroutines run.
    """

    def __init__(self, policy: AsyncPolicy, loop: EventLoop) -> None:
        self._policy, self._loop = policy, loop
        self.__wrapped__ = policy

        # What makes others like it is there only if the policy has it, and is set here because from
        # Python 3.12 on nothing that `__getattr__` returns counts for a protocol.
        for name in ("copy", "with_prompt"):
            if hasattr(policy, name):
                setattr(self, name, partial(self._another, name))

    def _another(self, name: str, *arguments: Any) -> AsyncPlayer:
        """Return a player of the policy that a method of this one's returns."""
        return AsyncPlayer(getattr(self._policy, name)(*arguments), self._loop)

    def seed(self, seed: int) -> None:
        """Tell the policy the seed of its next episode, if it draws."""
        if isinstance(self._policy, PolicyWithSeed):
            self._policy.seed(seed)

    def facts(self) -> Mapping[str, Any]:
        """Return what the policy says of itself; nothing if it does not."""
        return self._policy.facts() if isinstance(self._policy, PolicyWithFacts) else {}

    @property
    def last_output(self) -> ModelOutput | None:
        """What the policy's model produced for the last action, if it tells."""
        return getattr(self._policy, "last_output", None)

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Tell the policy that an episode begins, if it wants to know."""
        if isinstance(self._policy, PolicyWithReset):
            begun: Any = self._policy.reset(observation, info)  # type: ignore[func-returns-value]
            if inspect.iscoroutine(begun):
                self._loop.run(begun, self)

    def interrupt(self) -> None:
        """End its wait of this moment, from any thread."""
        self._loop.interrupt(self)
        if isinstance(self._policy, PolicyWithWaits):
            self._policy.interrupt()

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Wait for the policy's action.

        Raises:
            PolicyFailure: The wait for it was ended.
            PolicyStopped: The answer is no text.
        """
        return checked_action(self._loop.run(self._policy.act(observation, info), self))
