"""Adapters that let synchronous code play async functions and policies.

All coroutines run on one event loop, so that episodes share open connections.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from agentgym.conversation import Prompt
from agentgym.policies.base import (
    ModelOutput,
    PolicyWithFacts,
    PolicyWithReset,
    PolicyWithSeed,
    PolicyWithWaits,
    checked_action,
)
from agentgym.support.event_loop import EventLoop

__all__ = ["AsyncFunction", "AsyncPlayer", "AsyncPolicy"]


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
        self.__wrapped__ = function  # `inspect.unwrap` finds the source to hash for reports

    async def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Await the function; the caller checks the returned action."""
        return await self._function(observation, info)


class AsyncPlayer:
    """Play an async policy as a synchronous one.

    Args:
        policy: The policy.
        loop: The event loop that runs its coroutines.
    """

    def __init__(self, policy: AsyncPolicy, loop: EventLoop) -> None:
        self._policy, self._loop = policy, loop
        self.__wrapped__ = policy

        # A player must have these methods only if its policy has them, because isinstance checks
        # with protocols test for them. Since Python 3.12 these checks ignore `__getattr__`.
        for name in ("copy", "with_prompt"):
            if hasattr(policy, name):
                setattr(self, name, partial(self._wrap_returned, name))

    @property
    def prompt(self) -> Prompt | None:
        """Prompt of the policy's model, if the policy has one."""
        return getattr(self._policy, "prompt", None)

    def _wrap_returned(self, name: str, *arguments: Any) -> AsyncPlayer:
        """Call a method of the policy that returns another policy, and wrap the result."""
        return AsyncPlayer(getattr(self._policy, name)(*arguments), self._loop)

    def seed(self, seed: int) -> None:
        """Pass the seed of the next episode to the policy, if it takes one."""
        if isinstance(self._policy, PolicyWithSeed):
            self._policy.seed(seed)

    def facts(self) -> Mapping[str, Any]:
        """Return the facts of the policy; empty if it has none."""
        return self._policy.facts() if isinstance(self._policy, PolicyWithFacts) else {}

    @property
    def last_output(self) -> ModelOutput | None:
        """Output of the policy's model for the last action, if the policy provides it."""
        return getattr(self._policy, "last_output", None)

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Reset the policy for a new episode, if it has ``reset``."""
        if isinstance(self._policy, PolicyWithReset):
            result: Any = self._policy.reset(observation, info)  # type: ignore[func-returns-value]
            if inspect.iscoroutine(result):
                self._loop.run(result, self)

    def interrupt(self) -> None:
        """Interrupt the current wait, from any thread."""
        self._loop.interrupt(self)
        if isinstance(self._policy, PolicyWithWaits):
            self._policy.interrupt()

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Wait for the policy's action.

        Raises:
            PolicyFailure: The wait was interrupted.
            PolicyStopped: The action is not text.
        """
        return checked_action(self._loop.run(self._policy.act(observation, info), self))
