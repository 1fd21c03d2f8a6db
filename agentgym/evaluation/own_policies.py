"""Load users' policies, policy factories, functions and agents: ``MODULE:ATTRIBUTE``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import gymnasium

from agentgym.core.options import find_own
from agentgym.errors import ConfigurationError
from agentgym.evaluation.policy_maker import Agent, PolicyMaker, check_options
from agentgym.policies.asynchronous import AsyncFunction
from agentgym.policies.base import Policy, PolicyWithFacts
from agentgym.policies.basic import CallablePolicy
from agentgym.policies.factory import factory_from_first, is_async, make_synchronous, waits
from agentgym.policies.identity import source_sha256
from agentgym.support.redaction import hide_secrets

OWN = "MODULE:ATTRIBUTE"
"""Form of a name."""
SUPPLIED = ("env", "seed")
"""Parameters of a user's class or factory that are filled in automatically."""


def is_own(name: str) -> bool:
    """Return whether a name has the form of an attribute of a module."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(
        p.isidentifier() for p in [*module.split("."), *attribute.split(".")]
    )


def load_own(
    name: str, env: gymnasium.Env[str, str], seed: int, options: Mapping[str, Any]
) -> PolicyMaker:
    """Load a policy, a policy factory, a policy function or an agent of a module."""
    module, target = find_own(name, OWN)
    facts = {
        "kind": OWN,
        "policy": name,
        "seed": seed,
        "options": hide_secrets(options),
        "source_sha256": source_sha256(module, target),
    }
    if isinstance(target, Policy) and not isinstance(target, type):
        check_options(name, options, ())
        copied = getattr(target, "copy", None)
        make, release = make_synchronous(lambda env: copied() if copied else target)
        return PolicyMaker(name, make, env, facts, copied is not None, release=release)
    needed, supplied = parameters_of(name, target, seed, options)
    if isinstance(target, type) or not needed:
        make, release = make_synchronous(_constructor(target, supplied, options))
        # Make the first one now, so that a failing constructor fails before any episode.
        first = make(env)
        make = factory_from_first(first, make, env if "env" in supplied else None)
        return PolicyMaker(name, make, env, facts, waits=waits(first), release=release)
    facts = {**_read_facts(target), **facts}
    if len(needed) == 1:
        agent: Agent = partial(target, **options) if options else target
        return PolicyMaker(name, None, env, facts, agent=agent)
    function = partial(target, **options) if options else target
    if is_async(target):
        make, release = make_synchronous(lambda env: AsyncFunction(function))
        return PolicyMaker(name, make, env, facts, release=release)
    return PolicyMaker(name, lambda env: CallablePolicy(function), env, facts, waits=False)


def _read_facts(function: object) -> dict[str, Any]:
    """Return the facts of a function, from its attribute ``facts`` if it has one."""
    facts = function.facts() if isinstance(function, PolicyWithFacts) else {}
    return {fact: hide_secrets(value, fact) for fact, value in facts.items()}


def parameters_of(
    name: str, target: Callable[..., Any], seed: int, options: Mapping[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Return a callable's parameters for the caller to pass, and the arguments that are filled in.

    Raises:
        ConfigurationError: The object is not callable, or has unsuitable parameters.
    """
    forms = (
        "a policy with act(observation, info), a class or a function without arguments that makes "
        "one, a function of (observation, info), or an agent, a function of one session"
    )
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        raise ConfigurationError(f"expected {name} to be {forms}; got {target!r:.80}") from None
    names = [p.name for p in parameters]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        check_options(name, options, [p for p in names if p not in SUPPLIED])
    supplied = [p for p in SUPPLIED if p in names and p not in options]
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in (*supplied, *options)
    ]
    max_required = 0 if isinstance(target, type) else 2
    if len(needed) > max_required or (supplied and needed) or needed == ["observation"]:
        raise ConfigurationError(
            f"expected {name} to be {forms}; got {target!r:.80} with the parameters "
            f"{', '.join(needed)}, which may be given as options"
        )
    return needed, {p: seed if p == "seed" else None for p in supplied}


def _constructor(
    target: Callable[..., Any], supplied: Mapping[str, Any], options: Mapping[str, Any]
) -> Callable[[gymnasium.Env[str, str]], Any]:
    """Return a function that calls a class or factory with the arguments that it accepts."""

    def make(env: gymnasium.Env[str, str]) -> Any:
        return target(**{**supplied, **{p: env for p in supplied if p == "env"}, **options})

    return make


def names_own_agent(name: str, options: Mapping[str, Any]) -> bool:
    """Return whether a user's object is an agent, which plays with tool calls."""
    target = find_own(name, OWN)[1]
    if isinstance(target, Policy | type):
        return False
    return len(parameters_of(name, target, 0, options)[0]) == 1
