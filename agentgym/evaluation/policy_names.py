"""Load policies by name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium

from agentgym.core.options import find_own
from agentgym.core.oracle import DemonstratorPolicy, OraclePolicy
from agentgym.errors import ConfigurationError, DependencyNotInstalled
from agentgym.evaluation.demonstrations import demonstrate
from agentgym.evaluation.own_policies import OWN, is_own, load_own, names_own_agent
from agentgym.evaluation.policy_maker import (
    GROUP,
    PolicyKind,
    PolicyKindWithContent,
    PolicyKindWithEnv,
    PolicyMaker,
    check_options,
)
from agentgym.policies.base import Policy
from agentgym.policies.basic import RandomPolicy
from agentgym.policies.blind import BLIND, FITTED, UNFITTED, blind_policy, fit_blind
from agentgym.policies.identity import source_sha256
from agentgym.policies.transcriber import TRANSCRIBERS, Transcriber
from agentgym.registration.making import HOW_PLAYED, NamedEnv
from agentgym.support.guesses import with_guesses
from agentgym.trust import argument_claims, check_trusted
from agentgym.trust.typed_here import TypedHere

EXPERT_POLICIES: Mapping[str, type[OraclePolicy]] = {
    "oracle": OraclePolicy, "demonstrator": DemonstratorPolicy,
}  # fmt: skip
"""Policies that play the actions of the environment's experts."""
BUILTIN = ("random", *EXPERT_POLICIES, *BLIND, *TRANSCRIBERS)
"""Names of the policies that can play every environment."""


def load_policy(
    name: str, env: gymnasium.Env[str, str], *, seed: int = 0, **options: Any
) -> PolicyMaker:
    """Load the policy with a name.

    Args:
        name: ``random``, ``oracle`` (the solver that knows the answers), ``demonstrator`` (chosen
            by the argument ``expert`` of the environment), the name of a blind policy or of a
            transcriber (`agentgym.policies.BLIND`, `agentgym.policies.TRANSCRIBERS`, or one of the
            environment's own `blind_policies` and `reading_policies`);
            ``MODULE:ATTRIBUTE`` of your own: a policy, its class, a function without arguments that
            makes one, a function of (observation, info), or an agent, a function of one
            `agentgym.Session` (each may be async, a class by its ``act``); ``KIND:PATH`` with one
            of `policy_kinds`, such as ``run:PATH``; or a path that one of them understands.
        env: The environment to play, or an equal one, wrapped or not.
        seed: Seed of the policy's draws.
        **options: Options of the kind, or keyword arguments of your class or function. Reports
            contain them, except values with names like ``api_key``.

    Raises:
        ConfigurationError: Nothing has this name, or there is no such option.
        DependencyNotInstalled: The kind needs packages that are absent; names the extra.
    """
    return _loader(name, env, options)(seed)


def check_policy(name: str, env: gymnasium.Env[str, str], **options: Any) -> None:
    """Check the name of a policy without loading it.

    Args:
        name: As for `load_policy`.
        env: As for `load_policy`.
        **options: As for `load_policy`; options of your own class or function are not checked.

    Raises:
        ConfigurationError: Nothing has this name, or there is no such option.
        DependencyNotInstalled: The kind needs packages that are absent; names the extra.
    """
    _loader(name, env, options)


def _loader(
    name: str, env: gymnasium.Env[str, str], options: Mapping[str, Any]
) -> Callable[[int], PolicyMaker]:
    """Return a function that loads the policy with a name, given a seed."""
    if name in (*BUILTIN, *_of_family(env)):
        check_options(name, options, ())
        return lambda seed: PolicyMaker(
            name, _builtin(name, env, seed), env, {"kind": name, "seed": seed}
        )
    kinds = policy_kinds()
    prefix, colon, path = name.partition(":")
    if colon and prefix in kinds:
        kind = _kind(kinds[prefix])
        if problem := kind.problem(path):
            raise ConfigurationError(
                f"expected {prefix}: and {kind.summary}, got {name!r}: {problem}"
            )
        return _kind_loader(prefix, kind, path, env, options)
    if os.path.exists(name):
        return _kind_loader(*_best_kind(name, kinds), name, env, options)
    if is_own(name):
        find_own(name, OWN)
        return lambda seed: load_own(name, env, seed, options)
    if name == "chat":
        raise ConfigurationError(
            "expected a policy that a name alone makes, got 'chat', which needs a model: pass "
            "agentgym.policies.ChatPolicy, or use agentgym eval --policy chat --model NAME"
        )
    if os.path.basename(name) != name:
        raise ConfigurationError(
            f"expected a run folder at {name}, but there is none; agentgym train makes one"
        )
    raise ConfigurationError(
        f"expected {_choices(kinds, env)}; got {with_guesses([name], [*BUILTIN, *_of_family(env)])}"
    )


def policy_content(name: str, **options: Any) -> str:
    """Return a hash of the policy with a name, without loading a model.

    Args:
        name: As for `load_policy`.
        **options: As for `load_policy`.

    Returns:
        A hash of the source of your own policy, or of the weights of a model; empty for policies of
        the suite, and for kinds without a hash.

    Raises:
        AgentGymError: Nothing has this name, or it cannot be read.
    """
    path, kind = _kind_of(name)
    if kind is None and is_own(name):
        return source_sha256(*find_own(name, OWN))
    if isinstance(kind, PolicyKindWithContent) and not kind.problem(path):
        return kind.content(path, **options)
    return ""


def names_agent(name: str, **options: Any) -> bool:
    """Return whether a name refers to an agent, which plays with tool calls.

    Args:
        name: As for `load_policy`.
        **options: As for `load_policy`.

    Raises:
        ConfigurationError: The name has the form ``MODULE:ATTRIBUTE``, but is not a policy or
            agent.
    """
    if not is_own(name) or name.partition(":")[0] in policy_kinds() or os.path.exists(name):
        return False
    return names_own_agent(name, options)


def takes_sampling(name: str) -> bool:
    """Return whether a name refers to a loaded model, which samples its actions.

    Args:
        name: As for `load_policy`.
    """
    return _kind_of(name)[1] is not None


def policy_env_kwargs(name: str, env: NamedEnv, typed: Collection[str] = ()) -> dict[str, Any]:
    """Return the environment's arguments that a policy defines, such as those of its training.

    Args:
        name: As for `load_policy`.
        env: The environment to make.
        typed: Arguments that the user has set; they are left out.

    Returns:
        The arguments; empty for policies without an environment, or with another id. If a task set
        is named, which defines the tasks, only the arguments that define how they are played. For
        the name ``demonstrator`` and a task set: the demonstrator that training on it imitates.

    Raises:
        AgentGymError: Nothing has this name, or it cannot be read.
        NotTrusted: The policy's folder names more than plain data.
    """
    if name == "demonstrator" and env.demonstrator:
        return {} if "expert" in typed else {"expert": env.demonstrator}
    path, kind = _kind_of(name)
    if isinstance(kind, PolicyKindWithEnv) and not kind.problem(path):
        kwargs = kind.env_kwargs(path, env.id)
        used = {k: v for k, v in kwargs.items() if not env.task_set or k in HOW_PLAYED}
        used = {k: v for k, v in used.items() if k not in typed}
        check_trusted(argument_claims(env.id, used), f"the folder {path}", TypedHere(Path(path)))
        return used
    return {}


def _kind_of(name: str) -> tuple[str, PolicyKind | None]:
    """Return the path in a name, and the kind of policy that loads it, or None.

    A built-in name is never a path, even if a folder has the same name.
    """
    if name in BUILTIN:
        return name, None
    kinds = policy_kinds()
    prefix, colon, path = name.partition(":")
    if colon and prefix in kinds:
        return path, _kind(kinds[prefix])
    return (name, _best_kind(name, kinds)[1]) if os.path.exists(name) else (path, None)


def policy_kinds() -> dict[str, metadata.EntryPoint]:
    """Return the kinds of policies that packages add, by name.

    Raises:
        ConfigurationError: Two packages add kinds with the same name.
    """
    kinds: dict[str, metadata.EntryPoint] = {}
    for entry in metadata.entry_points(group=GROUP):
        first_entry = kinds.setdefault(entry.name, entry)
        if first_entry.value != entry.value:
            raise ConfigurationError(
                f"expected one kind of policies named {entry.name!r}, but {first_entry.value} and "
                f"{entry.value} both are: uninstall one of the packages"
            )
    return dict(sorted(kinds.items()))


def _of_family(env: gymnasium.Env[str, str]) -> Mapping[str, Callable[[Any], Any]]:
    """Return the baselines that an environment defines, by name."""
    text_env = env.unwrapped
    return {**getattr(text_env, "blind_policies", {}), **getattr(text_env, "reading_policies", {})}


def _builtin(
    name: str, env: gymnasium.Env[str, str], seed: int
) -> Callable[[gymnasium.Env[str, str]], Policy]:
    """Return a function that makes a built-in policy."""
    if name in EXPERT_POLICIES:
        return EXPERT_POLICIES[name]
    if name in UNFITTED:
        return lambda env: blind_policy(name, seed)
    if name in TRANSCRIBERS:
        return lambda env: Transcriber(name, env.unwrapped)  # type: ignore[arg-type]  # of text
    baselines = _of_family(env)
    if name in baselines:
        return lambda env: baselines[name](env.unwrapped)
    if name in FITTED:
        episodes = demonstrate(env, seed=seed)
        return lambda env: fit_blind(name, episodes)
    return lambda env: RandomPolicy(seed)


def _kind(entry: metadata.EntryPoint) -> PolicyKind:
    """Load a kind of policy from its entry point.

    Raises:
        ConfigurationError: It cannot be loaded.
    """
    try:
        kind: PolicyKind = entry.load()()
    except DependencyNotInstalled:
        raise
    except Exception as error:
        raise ConfigurationError(
            f"expected the entry point {entry.name} = {entry.value} of {GROUP} to be a kind of "
            f"policies, but it cannot be loaded: {type(error).__name__}: {error}; install its "
            "package again, or uninstall it"
        ) from error
    return kind


def _kind_loader(
    prefix: str,
    kind: PolicyKind,
    path: str,
    env: gymnasium.Env[str, str],
    options: Mapping[str, Any],
) -> Callable[[int], PolicyMaker]:
    """Return a function that loads a path by a kind of policy, given a seed."""
    parameters = inspect.signature(kind.load).parameters.values()
    option_names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "seed"]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        check_options(f"{prefix}:{path}", options, option_names)
    return lambda seed: kind.load(path, env, seed=seed, **options)


def _best_kind(path: str, kinds: Mapping[str, metadata.EntryPoint]) -> tuple[str, PolicyKind]:
    """Return the name and the kind with the highest rank among those that understand a path.

    Raises:
        ConfigurationError: No kind understands it; the message contains the reason of each.
    """
    problems: list[str] = []
    able: list[tuple[int, str, PolicyKind]] = []
    for prefix, entry in kinds.items():
        try:
            kind = _kind(entry)
            problem = kind.problem(path)
        except (ConfigurationError, DependencyNotInstalled) as error:  # other kinds may work
            problem = str(error)
        if problem:
            problems.append(f"not {prefix}: {problem}")
        else:
            able.append((kind.rank, prefix, kind))
    if able:
        return max(able, key=lambda candidate: candidate[0])[1:]
    reason = "; ".join(problems) or f"no package adds kinds of policies ({GROUP})"
    raise ConfigurationError(f"expected the path of a policy, got {path!r}, which is {reason}")


def _choices(kinds: Mapping[str, metadata.EntryPoint], env: gymnasium.Env[str, str]) -> str:
    """List the possible names, for error messages."""
    added = []
    for prefix, entry in kinds.items():
        try:
            added.append(f"{prefix}:... ({_kind(entry).summary})")
        except (ConfigurationError, DependencyNotInstalled) as error:
            added.append(f"{prefix}:... (not usable: {error})")
    builtin = [*BUILTIN, *_of_family(env), f"{OWN} of your own"]
    return ", ".join([*builtin, *added, "or a path that one of them takes"])
