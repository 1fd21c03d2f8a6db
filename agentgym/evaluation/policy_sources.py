"""Convert the argument ``policy`` of an evaluation to policies, and guard their errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import gymnasium

from agentgym.agents import check_grammar, takes_any_grammar
from agentgym.errors import ConfigurationError
from agentgym.evaluation.policy_maker import Agent, PolicyMaker
from agentgym.evaluation.policy_names import load_policy, names_agent
from agentgym.policies.asynchronous import AsyncFunction
from agentgym.policies.base import (
    ModelOutput,
    Policy,
    PolicyWithCopies,
    PolicyWithFacts,
    PolicyWithOutput,
    PolicyWithReset,
    PolicyWithSeed,
    PolicyWithWaits,
    checked_action,
)
from agentgym.policies.basic import CallablePolicy
from agentgym.policies.blind import is_reference_policy
from agentgym.policies.factory import factory_from_first, is_async, waits
from agentgym.policies.failures import SET_UP, policy_end
from agentgym.policies.identity import is_ours, source_sha256
from agentgym.support.event_loop import EventLoop
from agentgym.support.redaction import hide_secrets

Env = gymnasium.Env[str, str]
LOADED = ("kind", "policy", "seed", "options", "source_sha256", "weights_sha256")
"""Facts of a policy loaded by name; they take precedence over the policy's own facts."""


@dataclass(frozen=True)
class PolicySource:
    """Source of the policies of an evaluation."""

    make: Callable[[Env], Policy] | None
    """Returns a policy for an environment; None if an agent plays."""
    name: str
    """Name of the policy in the report."""
    several: bool
    """Whether several of them may play concurrently."""
    waits: bool = False
    """Whether they wait for something outside of this process, so that several should play."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts that identify the policy."""
    agent: Agent | None = None
    """The agent that plays whole episodes, see `agentgym.agents.play_agent`."""


def _unchanged(policy: Policy) -> Policy:
    return policy


def policy_source(
    policy: Any, env: Env, seed: int, configured: Callable[[Policy], Policy] = _unchanged
) -> PolicySource:
    """Interpret the argument ``policy`` of an evaluation.

    Args:
        policy: A policy, a function or class that makes one, a function of (observation, info) that
            returns an action, an agent (a function of a session), the result of `load_policy`, or a
            name that it understands. Functions and ``act`` may be coroutines.
        env: The environment that is played.
        seed: Seed of stochastic policies.
        configured: Wraps or configures each policy, for example with the protocol's prompt.

    Raises:
        ConfigurationError: The policy is none of these.
    """
    if isinstance(policy, str):
        policy = load_policy(policy, env, seed=seed)
    if isinstance(policy, PolicyMaker):
        return _of_maker(policy, env, configured)
    if isinstance(policy, Policy) and not isinstance(policy, type):
        return _make_source(configured(policy))
    if not callable(policy):
        raise _no_policy(policy)
    if _takes(policy, 0):
        return _maker(policy, lambda: _policy_of(policy, configured))
    if isinstance(policy, type) or not (_takes(policy, 1) or _takes(policy, 2)):
        raise _no_policy(policy)
    name = getattr(policy, "__name__", type(policy).__name__)
    facts = _facts(policy, source_sha256(policy))
    if is_agent(policy):
        check_grammar(env)
        return PolicySource(None, name, True, True, facts, policy)
    later = is_async(policy)
    # The cast hides that `act` is a coroutine function; GuardedPolicy awaits it on its loop.
    shared = cast(Policy, AsyncFunction(policy)) if later else CallablePolicy(policy)
    return PolicySource(lambda env: shared, name, True, later, facts)


def is_agent(policy: Any) -> bool:
    """Return whether the argument ``policy`` is an agent, which plays by tool calls.

    Raises:
        ConfigurationError: It is neither a policy nor an agent, nor the name of one.
    """
    if isinstance(policy, str):
        return names_agent(policy)
    if isinstance(policy, PolicyMaker):
        return policy.agent is not None
    if isinstance(policy, Policy | type) or not callable(policy):
        return False
    if not _takes(policy, 1) or _takes(policy, 0):
        return False
    if [*inspect.signature(policy).parameters] == ["observation"]:  # meant as a policy: lacks info
        raise _no_policy(policy)
    return True


def _of_maker(maker: PolicyMaker, env: Env, configured: Callable[[Policy], Policy]) -> PolicySource:
    """Return the source of a loaded name; makes one policy to check it and read its facts."""
    facts = dict(maker.facts)
    if is_reference_policy(facts.get("kind")):
        return PolicySource(maker, maker.name, maker.several)  # reports contain name and seed
    if maker.agent is not None:
        if not takes_any_grammar(maker.agent):
            check_grammar(env)
        return PolicySource(None, maker.name, True, maker.waits, facts, maker.agent)
    first = configured(maker(env))
    loaded = {name: facts[name] for name in LOADED if name in facts}
    # The loaded facts take precedence, so that a policy cannot claim to be another one.
    facts = {**facts, **_facts(first), **loaded}
    make = factory_from_first(first, lambda env: configured(maker(env)), env)
    return PolicySource(make, maker.name, maker.several, maker.waits and maker.several, facts)


def _make_source(policy: Policy) -> PolicySource:
    """Return the source of a policy: itself for the first environment, then its copies."""
    copies = isinstance(policy, PolicyWithCopies)
    waiting = [policy]

    def make(env: Env) -> Policy:
        if waiting or not isinstance(policy, PolicyWithCopies):
            return waiting.pop() if waiting else policy
        return policy.copy()

    return PolicySource(make, _name(policy), copies, copies, _facts(policy, _made_of(policy)))


def _policy_of(make: Callable[[], Any], configured: Callable[[Policy], Policy]) -> Policy:
    """Call a factory and check that it returns a policy."""
    policy = make()
    if not isinstance(policy, Policy):
        raise _no_policy(policy)
    return configured(policy)


def _maker(maker: object, make: Callable[[], Policy]) -> PolicySource:
    """Return the source of a factory of policies; makes the first policy at once."""
    first = make()
    facts = _facts(first, _made_of(first, maker))
    more = factory_from_first(first, lambda env: make())
    return PolicySource(more, _name(first), True, waits(first), facts)


def _name(policy: Policy) -> str:
    """Return the name of a policy: its model, if its facts contain one, else its class."""
    return str(_facts(policy).get("model") or type(policy).__name__)


def _facts(policy: object, source: str = "") -> dict[str, Any]:
    """Return the facts of a policy without secrets, and the hash of its source if there is one."""
    facts = policy.facts() if isinstance(policy, PolicyWithFacts) else {}
    facts = {name: hide_secrets(value, name) for name, value in facts.items()}
    return {**facts, "source_sha256": source} if source else facts


def _made_of(policy: Policy, *makers: object) -> str:
    """Return the hash of the source of a policy and of its factories."""
    if isinstance(policy, PolicyWithFacts) and is_ours(policy):  # its facts already identify it
        return ""
    return source_sha256(policy, *(maker for maker in makers if maker is not type(policy)))


def _takes(function: Callable[..., Any], n: int) -> bool:
    """Return whether a function can be called with n positional arguments."""
    try:
        inspect.signature(function).bind(*[None] * n)
    except (TypeError, ValueError):
        return False
    return True


def _no_policy(candidate: object) -> ConfigurationError:
    return ConfigurationError(
        "expected a policy with act(observation, info), a factory of policies, a function of "
        "(observation, info) that returns an action, an agent (a function of a session), or the "
        f"name of a policy, got {candidate!r:.80}"
    )


class GuardedPolicy:
    """A policy wrapper: an error ends only its episode, see `agentgym.policies.failures`.

    Errors in its configuration (`ConfigurationError`, `NotSupported`, a missing package) are
    raised unchanged, because they would end every episode.

    Args:
        policy: The policy.
        loop: Event loop for its coroutines.
    """

    def __init__(self, policy: Policy, loop: EventLoop) -> None:
        self._policy, self._loop = policy, loop

    def seed(self, seed: int) -> None:
        """Pass the seed of the next episode to the policy, if it takes one."""
        if isinstance(self._policy, PolicyWithSeed):
            self._policy.seed(seed)

    def reset(self, observation: str, info: Mapping[str, Any]) -> None:
        """Reset the policy for a new episode, if it has ``reset``.

        Raises:
            PolicyFailure: The policy failed, or ended its episode.
        """
        if isinstance(self._policy, PolicyWithReset):
            self._call(self._policy.reset, observation, info)

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the policy's action.

        Raises:
            PolicyFailure: An endpoint or connection failed.
            PolicyStopped: The policy raised another exception, or its action is not text.
        """
        return checked_action(self._call(self._policy.act, observation, info))

    def interrupt(self) -> None:
        """Interrupt its waits, from any thread."""
        self._loop.interrupt(self)
        if isinstance(self._policy, PolicyWithWaits):
            self._policy.interrupt()

    @property
    def last_output(self) -> ModelOutput | None:
        """Last output of the policy's model, if it has one."""
        return self._policy.last_output if isinstance(self._policy, PolicyWithOutput) else None

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            result = function(*arguments)
            return self._loop.run(result, self) if inspect.iscoroutine(result) else result
        except SET_UP:
            raise
        except Exception as error:
            end = policy_end(error)
            # Keep only its own cause: the exception handled here would only confuse the traceback.
            raise end from end.__cause__
