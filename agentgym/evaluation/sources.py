"""What can be evaluated: the policies that an evaluation understands, and their errors."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import gymnasium

from agentgym.errors import (
    ConfigurationError,
    DependencyNotInstalled,
    NotSupported,
    PolicyFailure,
)
from agentgym.evaluation.demonstrations import demonstrate
from agentgym.policies.base import (
    ModelOutput,
    Policy,
    PolicyWithCopies,
    PolicyWithFacts,
    PolicyWithOutput,
    PolicyWithReset,
    PolicyWithSeed,
)
from agentgym.policies.basic import CallablePolicy, OraclePolicy, RandomPolicy
from agentgym.policies.blind import BLIND, FITTED, UNFITTED, blind_policy, fit_blind

Env = gymnasium.Env[str, str]
SHOWN = 500
"""Most characters of what a policy raised that a report shows."""


@dataclass(frozen=True)
class PolicySource:
    """Makes the policies of an evaluation."""

    make: Callable[[Env], Policy]
    """Return the policy that plays at an environment."""
    name: str
    """Name of the policy in the report."""
    several: bool
    """Whether several of them may play at the same time."""
    waits: bool = False
    """Whether they wait for something else than this process, so that several should play."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the policy says of itself."""


def policy_source(policy: Any, env: Env, seed: int) -> PolicySource:
    """Understand what was given as the policy of an evaluation.

    Args:
        policy: A policy, a function or class that makes one, a function of (observation, info) that
            returns an action, or the name of a built-in policy. Functions and ``act`` may be
            coroutines.
        env: The environment that is played.
        seed: Seed of the policies that draw.

    Raises:
        ConfigurationError: It is none of these.
    """
    if isinstance(policy, str):
        return _built_in(policy, env, seed)
    if isinstance(policy, Policy) and not isinstance(policy, type):
        return _made(policy)
    if not callable(policy):
        raise _no_policy(policy)
    if _takes(policy, 0):
        return _maker(policy)
    if isinstance(policy, type) or not _takes(policy, 2):
        raise _no_policy(policy)
    waits = inspect.iscoroutinefunction(policy)
    shared = cast(Policy, _Coroutine(policy)) if waits else CallablePolicy(policy)
    name = getattr(policy, "__name__", type(policy).__name__)
    return PolicySource(lambda env: shared, name, True, waits)


def _built_in(name: str, env: Env, seed: int) -> PolicySource:
    if name == "random":
        return PolicySource(lambda env: RandomPolicy(seed), name, True)
    if name == "oracle":
        return PolicySource(OraclePolicy, name, True)
    if name in UNFITTED:
        return PolicySource(lambda env: blind_policy(name, seed), name, True)
    if name in FITTED:
        episodes = demonstrate(env, seed=seed)
        return PolicySource(lambda env: fit_blind(name, episodes), name, True)
    raise _no_policy(name)


def _made(policy: Policy) -> PolicySource:
    """Return the source of a policy: itself for the first environment, then its copies."""
    copies = isinstance(policy, PolicyWithCopies)
    waiting = [policy]

    def make(env: Env) -> Policy:
        if waiting or not isinstance(policy, PolicyWithCopies):
            return waiting.pop() if waiting else policy
        return policy.copy()

    return PolicySource(make, _name(policy), copies, copies, _facts(policy))


def _maker(make: Callable[[], Policy]) -> PolicySource:
    """Return the source of a function or class that makes policies; it is tried once."""
    first = make()
    if not isinstance(first, Policy):
        raise _no_policy(first)
    waiting = [first]
    return PolicySource(
        lambda env: waiting.pop() if waiting else make(),
        _name(first),
        True,
        isinstance(first, PolicyWithCopies) or inspect.iscoroutinefunction(first.act),
        _facts(first),
    )


def _name(policy: Policy) -> str:
    """Name a policy: its model, if it says so, else its class."""
    return str(_facts(policy).get("model") or type(policy).__name__)


def _facts(policy: Policy) -> dict[str, Any]:
    return dict(policy.facts()) if isinstance(policy, PolicyWithFacts) else {}


def _takes(function: Callable[..., Any], n: int) -> bool:
    """Return whether a function can be called with n positional arguments."""
    try:
        inspect.signature(function).bind(*[None] * n)
    except (TypeError, ValueError):
        return False
    return True


def _no_policy(given: Any) -> ConfigurationError:
    return ConfigurationError(
        "expected a policy with act(observation, info), what makes one, a function of (observation,"
        f" info) that returns an action, 'random', 'oracle' or one of {', '.join(BLIND)}, got "
        f"{given!r:.80}"
    )


class _Coroutine:
    """A coroutine function as a policy."""

    def __init__(self, function: Callable[[str, Mapping[str, Any]], Any]) -> None:
        self._function = function

    async def act(self, observation: str, info: Mapping[str, Any]) -> Any:
        return await self._function(observation, info)


class EventLoop:
    """One event loop in a thread of its own, for policies whose ``act`` is a coroutine."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="agentgym-policies", daemon=True
        )
        self._thread.start()

    def wait(self, coroutine: Any) -> Any:
        """Run a coroutine to its end, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Cancel what runs, and stop."""
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class GuardedPolicy:
    """A policy whose errors are `PolicyFailure`, so that each costs one episode.

    Mistakes in how it was set up (`ConfigurationError`, `NotSupported`, a missing package) are
    raised as they are: they would fail every episode.

    Args:
        policy: The policy.
        loop: Where its coroutines run.
    """

    def __init__(self, policy: Policy, loop: EventLoop) -> None:
        self._policy, self._loop = policy, loop

    def seed(self, seed: int) -> None:
        """Tell the policy the seed of its next episode, if it draws."""
        if isinstance(self._policy, PolicyWithSeed):
            self._policy.seed(seed)

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Tell the policy that an episode begins, if it wants to know.

        Raises:
            PolicyFailure: It failed.
        """
        if isinstance(self._policy, PolicyWithReset):
            self._call(self._policy.reset, observation, info)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Ask for an action.

        Raises:
            PolicyFailure: It failed, or answered with something else than text.
        """
        action = self._call(self._policy.act, observation, info)
        if not isinstance(action, str):
            raise PolicyFailure(
                f"expected the policy to return the text of an action, got {type(action).__name__}"
            )
        return action

    @property
    def last_output(self) -> ModelOutput | None:
        """What the policy's model produced last, if it has one."""
        return self._policy.last_output if isinstance(self._policy, PolicyWithOutput) else None

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            result = function(*arguments)
            return self._loop.wait(result) if inspect.isawaitable(result) else result
        except (ConfigurationError, DependencyNotInstalled, NotSupported, PolicyFailure):
            raise
        except Exception as error:
            raise PolicyFailure(
                f"the policy raised {type(error).__name__}: {str(error)[:SHOWN]}"
            ) from error
