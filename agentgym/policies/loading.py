"""Policies by name: what a name stands for, and what makes the policies that it stands for.

Packages add kinds of their own by an entry point of the group ``agentgym.policies``: its name is
what stands before the colon (``run:PATH``), and its value a class without arguments that is a
`PolicyKind`. So what learns is found by what evaluates, which does not import it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import gymnasium

from agentgym.errors import ConfigurationError, DependencyNotInstalled
from agentgym.options import find_own
from agentgym.playing import play
from agentgym.policies.asynchronous import AsyncFunction
from agentgym.policies.base import Policy, PolicyWithFacts
from agentgym.policies.basic import CallablePolicy, OraclePolicy, RandomPolicy
from agentgym.policies.blind import BLIND, FITTED, UNFITTED, Turn, blind_policy, fit_blind
from agentgym.policies.identity import source_sha256
from agentgym.policies.several import answers_later, makes_more, played, waits
from agentgym.redaction import hide_secrets
from agentgym.session import Session
from agentgym.vector.episode import derive_seed

__all__ = [
    "DEMONSTRATIONS",
    "GROUP",
    "Agent",
    "PolicyKind",
    "PolicyKindWithContent",
    "PolicyMaker",
    "demonstrate",
    "load_policy",
    "names_agent",
    "policy_content",
    "policy_kinds",
]

GROUP = "agentgym.policies"
"""Group of the entry points that add kinds of policies."""
DEMONSTRATIONS = 100
"""Most tasks that the expert plays for a blind policy to be fitted on."""
SUPPLIED = ("env", "seed")
"""Parameters that are filled in where a class or a maker of one's own has them."""
OWN = "MODULE:ATTRIBUTE"

Agent = Callable[[Session], Any]
"""What plays an episode by itself, see `agentgym.session.play_agent`; it may be async."""


@dataclass(frozen=True)
class PolicyMaker:
    """Makes the policies that a name stands for; call it to make one.

    It is a context manager that closes itself.
    """

    name: str
    """The name, as it was given."""
    make: Callable[[gymnasium.Env[str, str]], Policy] | None
    """Makes a policy for the environment that it will play; None: the name is an agent's."""
    env: gymnasium.Env[str, str]
    """The environment for which it was loaded."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What identifies the policy, JSON-safe, with its ``kind``."""
    several: bool = True
    """Whether its policies may play at the same time."""
    agent: Agent | None = None
    """What plays whole episodes by itself, in place of policies."""
    waits: bool = True
    """Whether its policies, or its agent, wait for something else than this process, such as a
    model, so that several should play unless told otherwise."""
    release: Callable[[], None] = lambda: None
    """Frees what its policies share."""

    def __call__(self, env: gymnasium.Env[str, str] | None = None) -> Policy:
        """Make a policy.

        Args:
            env: The environment that it will play; default: the one for which it was loaded.

        Raises:
            ConfigurationError: What was made is no policy, or the name is an agent's.
        """
        if self.make is None:
            raise ConfigurationError(
                f"expected a policy that is asked turn by turn, got the agent {self.name!r}, which "
                "plays by itself: give it to agentgym.session.play_agent"
            )
        made = self.make(self.env if env is None else env)
        if not isinstance(made, Policy) or isinstance(made, type):
            raise ConfigurationError(
                f"expected {self.name} to make a policy with act(observation, info), got "
                f"{made!r:.80}"
            )
        return made

    def close(self) -> None:
        """Free what its policies share, such as a model; they cannot play any more."""
        self.release()

    def __enter__(self) -> PolicyMaker:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


@runtime_checkable
class PolicyKindWithContent(Protocol):
    """A kind of policies that notices when what stands at a path has changed."""

    def problem(self, path: str) -> str:
        """See `PolicyKind`."""
        ...

    def content(self, path: str, **options: Any) -> str:
        """Return a hash of what a path leads to with options, in little time."""
        ...


@runtime_checkable
class PolicyKindWithEnv(Protocol):
    """A kind of policies that know in which environment they were made."""

    def problem(self, path: str) -> str:
        """See `PolicyKind`."""
        ...

    def env_kwargs(self, path: str, env_id: str) -> Mapping[str, Any]:
        """Return the arguments of the environment of an id that a policy knows; none if unsure."""
        ...


class PolicyKind(Protocol):
    """A kind of policies that a package adds, under the name of its entry point."""

    summary: str
    """What stands behind the colon, in a few words."""
    rank: int
    """Of several kinds that understand a path, the one of the highest rank loads it."""

    def problem(self, path: str) -> str:
        """Return what is amiss with a path or name, without loading it; empty: it can be loaded."""
        ...

    def load(
        self, path: str, env: gymnasium.Env[str, str], *, seed: int, **options: Any
    ) -> PolicyMaker:
        """Load what a path or name stands for; options are keyword-only parameters.

        Raises:
            AgentGymError: It cannot be loaded, or not for this environment.
        """
        ...


def load_policy(
    name: str, env: gymnasium.Env[str, str], *, seed: int = 0, **options: Any
) -> PolicyMaker:
    """Find out what a name stands for, and load it.

    Args:
        name: ``random``, ``oracle``, the name of a blind policy (`agentgym.policies.BLIND`);
            ``MODULE:ATTRIBUTE`` of your own: a policy, its class, a function without arguments that
            makes one, a function of (observation, info), or an agent, a function of one
            `agentgym.Session` (each may be async, a class by its ``act``); ``KIND:PATH`` with one
            of `policy_kinds`, such as ``run:PATH``; or a path that one of them understands.
        env: The environment that will be played, or one like it, wrapped or not.
        seed: Seed of what the policies draw.
        **options: What the kind takes, or keyword arguments of your own class or maker. They stand
            in reports, but for values whose names look like secrets, such as ``api_key``.

    Raises:
        ConfigurationError: Nothing has this name, or there is no such option.
        DependencyNotInstalled: The kind needs packages that are absent; names the extra.
    """
    if name in ("random", "oracle", *BLIND):
        _check_options(name, options, ())
        make = _builtin(name, env, seed)
        return PolicyMaker(name, make, env, {"kind": name, "seed": seed})
    kinds = policy_kinds()
    prefix, colon, rest = name.partition(":")
    if colon and prefix in kinds:
        kind = _kind(kinds[prefix])
        if problem := kind.problem(rest):
            raise ConfigurationError(
                f"expected {prefix}: and {kind.summary}, got {name!r}: {problem}"
            )
        return _load(prefix, kind, rest, env, seed, options)
    if os.path.exists(name):
        return _load_path(name, kinds, env, seed, options)
    if _is_own(name):
        return _own(name, env, seed, options)
    raise ConfigurationError(f"expected {_choices(kinds)}; got {name!r}")


def policy_content(name: str, **options: Any) -> str:
    """Return a hash of what a name leads to, without loading a model.

    Args:
        name: As for `load_policy`.
        **options: As for `load_policy`.

    Returns:
        A hash of the source of what you wrote yourself, or of the weights of a model; empty for
        what is part of the suite, and for kinds that do not say.

    Raises:
        AgentGymError: Nothing has this name, or it cannot be read.
    """
    path, found = _kind_of(name)
    if found is None and _is_own(name):
        return source_sha256(*find_own(name, OWN))
    if isinstance(found, PolicyKindWithContent) and not found.problem(path):
        return found.content(path, **options)
    return ""


def names_agent(name: str, **options: Any) -> bool:
    """Return whether a name stands for an agent, which plays by calls of tools.

    Args:
        name: As for `load_policy`.
        **options: As for `load_policy`.

    Raises:
        ConfigurationError: It has the form of your own, but stands for nothing that can play.
    """
    if not _is_own(name) or name.partition(":")[0] in policy_kinds() or os.path.exists(name):
        return False
    found = find_own(name, OWN)[1]
    if isinstance(found, Policy | type):
        return False
    return len(_parameters(name, found, 0, options)[0]) == 1


def policy_env_kwargs(name: str, env_id: str) -> dict[str, Any]:
    """Return the arguments of the environment that a policy knows, such as those of its run.

    Args:
        name: As for `load_policy`.
        env_id: Gymnasium id of the environment that is to be made.

    Returns:
        The arguments; none of policies that know no environment, or not of this id.

    Raises:
        AgentGymError: Nothing has this name, or it cannot be read.
    """
    path, found = _kind_of(name)
    if isinstance(found, PolicyKindWithEnv) and not found.problem(path):
        return dict(found.env_kwargs(path, env_id))
    return {}


def _kind_of(name: str) -> tuple[str, PolicyKind | None]:
    """Return the path that a name leads to, and the kind that loads it; None if none does."""
    kinds = policy_kinds()
    prefix, colon, path = name.partition(":")
    if colon and prefix in kinds:
        return path, _kind(kinds[prefix])
    return (name, _best_kind(name, kinds)[1]) if os.path.exists(name) else (path, None)


def policy_kinds() -> dict[str, metadata.EntryPoint]:
    """Return the kinds that packages add, by name.

    Raises:
        ConfigurationError: Two packages add a kind of one name.
    """
    kinds: dict[str, metadata.EntryPoint] = {}
    for entry in metadata.entry_points(group=GROUP):
        other = kinds.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ConfigurationError(
                f"expected one kind of policies named {entry.name!r}, but {other.value} and "
                f"{entry.value} both are: uninstall one of the packages"
            )
    return dict(sorted(kinds.items()))


def demonstrate(
    env: gymnasium.Env[str, str], n: int = DEMONSTRATIONS, seed: int = 0
) -> list[list[Turn]]:
    """Let the expert play, for `agentgym.policies.fit_blind`.

    Args:
        env: A text environment, wrapped or not.
        n: Most tasks: of the train split, or of the first one where there is none.
        seed: Seed of the choice of tasks and of the episodes.

    Returns:
        The turns of each episode: the admissible actions, and what the expert typed. Episodes in
        which the environment failed are left out.

    Raises:
        NotSupported: The family has no expert.
    """
    tasks: Any = env.unwrapped.tasks  # type: ignore[attr-defined]  # of every text environment
    split = "train" if "train" in tasks.splits else next(iter(tasks.splits))
    # Tasks of their own, or else the one task of a small panel would be fitted and then played.
    panel = tasks.panel(split, min(n, tasks.len(split)), derive_seed(seed, n))
    found = []
    for index, task_id in enumerate(panel.ids):
        options = {"task_id": task_id}
        moments = [*play(OraclePolicy(env), env, seed=derive_seed(seed, index), options=options)]
        if moments[-1].failure is None:
            turns = ((was.info["admissible_actions"], now.action) for was, now in pairwise(moments))
            found.append([(actions, str(action)) for actions, action in turns])
    return found


# -- what the suite itself has ---------------------------------------------------------------------


def _builtin(
    name: str, env: gymnasium.Env[str, str], seed: int
) -> Callable[[gymnasium.Env[str, str]], Policy]:
    """Return what makes a policy of the suite."""
    if name == "oracle":
        return OraclePolicy
    if name in UNFITTED:
        return lambda env: blind_policy(name, seed)
    if name in FITTED:
        episodes = demonstrate(env, seed=seed)
        return lambda env: fit_blind(name, episodes)
    return lambda env: RandomPolicy(seed)


# -- kinds that packages add -----------------------------------------------------------------------


def _kind(entry: metadata.EntryPoint) -> PolicyKind:
    """Load a kind.

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


def _load(
    prefix: str,
    kind: PolicyKind,
    path: str,
    env: gymnasium.Env[str, str],
    seed: int,
    options: Mapping[str, Any],
) -> PolicyMaker:
    """Load a path by a kind that understands it."""
    parameters = inspect.signature(kind.load).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "seed"]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        _check_options(f"{prefix}:{path}", options, known)
    return kind.load(path, env, seed=seed, **options)


def _load_path(
    path: str,
    kinds: Mapping[str, metadata.EntryPoint],
    env: gymnasium.Env[str, str],
    seed: int,
    options: Mapping[str, Any],
) -> PolicyMaker:
    """Load a path by the kind that understands it best."""
    prefix, kind = _best_kind(path, kinds)
    return _load(prefix, kind, path, env, seed, options)


def _best_kind(path: str, kinds: Mapping[str, metadata.EntryPoint]) -> tuple[str, PolicyKind]:
    """Return the kind that understands a path best, and its name.

    Raises:
        ConfigurationError: None does; says what each misses.
    """
    problems: list[str] = []
    able: list[tuple[int, str, PolicyKind]] = []
    for prefix, entry in kinds.items():
        try:
            kind = _kind(entry)
            problem = kind.problem(path)
        except (ConfigurationError, DependencyNotInstalled) as error:  # the others may do
            problem = str(error)
        if problem:
            problems.append(f"not {prefix}: {problem}")
        else:
            able.append((kind.rank, prefix, kind))
    if able:
        return max(able, key=lambda found: found[0])[1:]
    found = "; ".join(problems) or f"no package adds kinds of policies ({GROUP})"
    raise ConfigurationError(f"expected the path of a policy, got {path!r}, which is {found}")


def _is_own(name: str) -> bool:
    """Return whether a name has the form of an attribute of a module."""
    module, colon, attribute = name.partition(":")
    return bool(colon) and all(
        p.isidentifier() for p in [*module.split("."), *attribute.split(".")]
    )


def _choices(kinds: Mapping[str, metadata.EntryPoint]) -> str:
    """Say what a name may be."""
    added = []
    for prefix, entry in kinds.items():
        try:
            added.append(f"{prefix}:... ({_kind(entry).summary})")
        except (ConfigurationError, DependencyNotInstalled) as error:
            added.append(f"{prefix}:... (not usable: {error})")
    return ", ".join(
        ["random, oracle", *BLIND, f"{OWN} of your own", *added, "or a path that one of them takes"]
    )


def _check_options(name: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse options that a policy does not take."""
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ConfigurationError(
            f"expected options of the policy {name!r} among {', '.join(known) or 'none'}; got "
            f"{', '.join(unknown)}"
        )


# -- what a user wrote -----------------------------------------------------------------------------


def _own(
    name: str, env: gymnasium.Env[str, str], seed: int, options: Mapping[str, Any]
) -> PolicyMaker:
    """Load a policy, what makes one, a policy function or an agent of a module."""
    module, found = find_own(name, OWN)
    facts = {
        "kind": OWN,
        "policy": name,
        "seed": seed,
        "options": hide_secrets(options),
        "source_sha256": source_sha256(module, found),
    }
    if isinstance(found, Policy) and not isinstance(found, type):
        _check_options(name, options, ())
        copied = getattr(found, "copy", None)
        make, release = played(lambda env: copied() if copied else found)
        return PolicyMaker(name, make, env, facts, copied is not None, release=release)
    needed, supplied = _parameters(name, found, seed, options)
    if isinstance(found, type) or not needed:
        make, release = played(_constructor(found, supplied, options))
        first = make(env)
        make = makes_more(first, make, env if "env" in supplied else None)
        return PolicyMaker(name, make, env, facts, waits=waits(first), release=release)
    facts = {**_said(found), **facts}
    if len(needed) == 1:
        agent: Agent = partial(found, **options) if options else found
        return PolicyMaker(name, None, env, facts, agent=agent)
    function = partial(found, **options) if options else found
    if answers_later(found):
        make, release = played(lambda env: AsyncFunction(function))
        return PolicyMaker(name, make, env, facts, release=release)
    return PolicyMaker(name, lambda env: CallablePolicy(function), env, facts, waits=False)


def _said(function: Any) -> dict[str, Any]:
    """Return what a function says of itself, in an attribute ``facts`` that is called."""
    told = function.facts() if isinstance(function, PolicyWithFacts) else {}
    return {fact: hide_secrets(value, fact) for fact, value in told.items()}


def _parameters(
    name: str, found: Any, seed: int, options: Mapping[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Return the arguments that are left to the caller, and those that are filled in.

    Raises:
        ConfigurationError: It cannot be called, or not as any of what may be called.
    """
    forms = (
        "a policy with act(observation, info), a class or a function without arguments that makes "
        "one, a function of (observation, info), or an agent, a function of one session"
    )
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        raise ConfigurationError(f"expected {name} to be {forms}; got {found!r:.80}") from None
    names = [p.name for p in parameters]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        _check_options(name, options, [p for p in names if p not in SUPPLIED])
    supplied = [p for p in SUPPLIED if p in names and p not in options]
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in (*supplied, *options)
    ]
    most = 0 if isinstance(found, type) else 2
    if len(needed) > most or (supplied and needed) or needed == ["observation"]:
        raise ConfigurationError(
            f"expected {name} to be {forms}; got {found!r:.80} with the parameters "
            f"{', '.join(needed)}, which may be given as options"
        )
    return needed, {p: seed if p == "seed" else None for p in supplied}


def _constructor(
    found: Callable[..., Any], supplied: Mapping[str, Any], options: Mapping[str, Any]
) -> Callable[[gymnasium.Env[str, str]], Any]:
    """Return what calls a class or a maker with what it takes."""

    def make(env: gymnasium.Env[str, str]) -> Any:
        return found(**{**supplied, **{p: env for p in supplied if p == "env"}, **options})

    return make
