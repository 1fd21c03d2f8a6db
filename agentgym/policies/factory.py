"""The policies of several episodes at the same time, from what makes one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium

from agentgym.policies.asynchronous import AsyncPlayer
from agentgym.policies.base import Policy, PolicyWithCopies
from agentgym.support.event_loop import EventLoop

__all__ = ["answers_later", "makes_more", "played", "waits"]


def makes_more(
    first: Policy,
    make: Callable[[gymnasium.Env[str, str]], Policy],
    env: gymnasium.Env[str, str] | None = None,
) -> Callable[[gymnasium.Env[str, str]], Policy]:
    """Return what makes the policies of several environments, of which the first is made already.

    Those that can be copied are copies of the first, so that all share what is one: a connection, a
    rate limit, what was learnt of an endpoint.

    Args:
        first: The first.
        make: Makes others.
        env: The environment that the first one holds, if each holds its own.
    """
    waiting = [first]

    def made(played: gymnasium.Env[str, str]) -> Policy:
        if waiting and (env is None or env is played):
            return waiting.pop()
        return first.copy() if env is None and isinstance(first, PolicyWithCopies) else make(played)

    return made


def answers_later(policy: object) -> bool:
    """Return whether a policy function, or an object that is called like one, is async."""
    call = getattr(type(policy), "__call__", None)  # noqa: B004  # of an object, not of its class
    return inspect.iscoroutinefunction(policy) or inspect.iscoroutinefunction(call)


def waits(policy: Policy) -> bool:
    """Return whether a policy waits for something else than this process, as far as it shows."""
    acts = inspect.iscoroutinefunction(getattr(policy, "act", None))
    return acts or isinstance(policy, PolicyWithCopies | AsyncPlayer)


def played(
    make: Callable[[gymnasium.Env[str, str]], Any],
) -> tuple[Callable[[gymnasium.Env[str, str]], Policy], Callable[[], None]]:
    """Return what makes ordinary policies, and what frees what these share."""
    loop = EventLoop()

    def made(env: gymnasium.Env[str, str]) -> Policy:
        policy = make(env)
        if inspect.iscoroutinefunction(getattr(policy, "act", None)):
            return AsyncPlayer(policy, loop)
        checked: Policy = policy
        return checked

    return made, loop.close
