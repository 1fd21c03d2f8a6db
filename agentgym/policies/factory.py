"""Factories of policies for several concurrent episodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium

from agentgym.policies.asynchronous import AsyncPlayer
from agentgym.policies.base import Policy, PolicyWithCopies
from agentgym.support.event_loop import EventLoop

__all__ = ["factory_from_first", "is_async", "make_synchronous", "waits"]


def factory_from_first(
    first: Policy,
    make: Callable[[gymnasium.Env[str, str]], Policy],
    env: gymnasium.Env[str, str] | None = None,
) -> Callable[[gymnasium.Env[str, str]], Policy]:
    """Return a factory of policies for several environments, given the first policy.

    Policies that support it are copied from the first, so that all share its connection, rate limit
    and detected limitations of the endpoint.

    Args:
        first: The first policy.
        make: Makes further policies.
        env: The environment of the first policy, if each policy has its own.
    """
    waiting = [first]

    def make_policy(player_env: gymnasium.Env[str, str]) -> Policy:
        if waiting and (env is None or env is player_env):
            return waiting.pop()
        return (
            first.copy()
            if env is None and isinstance(first, PolicyWithCopies)
            else make(player_env)
        )

    return make_policy


def is_async(policy: object) -> bool:
    """Return whether a policy function or callable object is async."""
    call = getattr(type(policy), "__call__", None)  # noqa: B004  # the method itself is needed
    return inspect.iscoroutinefunction(policy) or inspect.iscoroutinefunction(call)


def waits(policy: Policy) -> bool:
    """Return whether a policy is known to wait for an external service, such as an endpoint."""
    acts = inspect.iscoroutinefunction(getattr(policy, "act", None))
    return acts or isinstance(policy, PolicyWithCopies | AsyncPlayer)


def make_synchronous(
    make: Callable[[gymnasium.Env[str, str]], Any],
) -> tuple[Callable[[gymnasium.Env[str, str]], Policy], Callable[[], None]]:
    """Wrap a factory whose policies may be async.

    Returns:
        A factory of synchronous policies, and a function that closes their event loop.
    """
    loop = EventLoop()

    def make_policy(env: gymnasium.Env[str, str]) -> Policy:
        policy = make(env)
        if inspect.iscoroutinefunction(getattr(policy, "act", None)):
            return AsyncPlayer(policy, loop)
        checked: Policy = policy
        return checked

    return make_policy, loop.close
