"""Resolve names of environments and make environments, with clear error messages.

Commands use this module to read names (``webshop``, ``webshop:easy``, an id, ``MODULE:ID``) and
``name=value`` arguments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator

from agentgym.core.env import TextEnv
from agentgym.core.fingerprint import VIEWS
from agentgym.core.options import arguments, import_named
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.registration import imports
from agentgym.registration.families import families, family, find_family
from agentgym.support.redaction import for_others, hide_secrets

_REPEATED = " was raised from the environment creator"
"""Start of the suffix that Gymnasium appends to error messages of constructors."""


_UNNAMED = VIEWS | {
    "allow_unsafe", "command_timeout", "expert", "grading_timeout", "grammar", "image_mirror",
    "on_error", "pull", "reward", "reward_hooks", "reward_scale", "sandbox", "seconds",
}  # fmt: skip
"""Arguments that change neither the tasks nor their texts: `env_name` ignores them."""
HOW_PLAYED = _UNNAMED | {"notes", "summary_every", "tries", "worker_turns"}
"""Arguments that define how tasks are played, not the tasks themselves."""
_VALUE = 40
"""Maximum length of a value in a name."""


class NamedEnv(NamedTuple):
    """The result of resolving the name of an environment."""

    short: str
    """Name for folders and tables: ``webshop``, or ``webshop-easy`` for ``webshop:easy``."""
    id: str
    """The Gymnasium id."""
    family: str
    """Short name of the family, or of an environment outside of any family."""
    kwargs: Mapping[str, Any] = MappingProxyType({})
    """Keyword arguments of the named task set."""
    task_set: str = ""
    """Name of the task set; empty if none was named."""
    demonstrator: str = ""
    """Argument ``expert`` for the demonstrator that training on the task set imitates; empty: the
    default."""


def resolve(name: str) -> NamedEnv:
    """Resolve the name of an environment.

    Args:
        name: A short name such as ``webshop``, one of its task sets such as ``webshop:easy``, an id
            that is registered with Gymnasium, the name of another project's environment such as
            ``gem:ID`` (see :mod:`agentgym.registration.imports`), or ``MODULE:ID``, where importing
            the module registers the id. Modules are also searched in the working directory; they
            cannot have the name of a family.

    Raises:
        ConfigurationError: The module cannot be imported, or the name is unknown.
    """
    if (imported := imports.find(name)) is not None:
        short, env_id = imported
        return NamedEnv(short, env_id, short)
    module, colon, task_id = name.rpartition(":")
    if colon and (entry := find_family(name.partition(":")[0])) is not None:
        task_set = entry.task_set(name.partition(":")[2])
        short, demonstrator = f"{entry.name}-{task_set.name}", task_set.demonstrator
        return NamedEnv(short, entry.id, entry.name, task_set.kwargs, task_set.name, demonstrator)
    if colon:
        import_named(module, f"one of {imports.FORMS}, or MODULE:ID")
        name = task_id
    if name in gymnasium.registry and not name.startswith("agentgym/"):
        short = name.rsplit("/", 1)[-1].rsplit("-v", 1)[0].lower()
        return NamedEnv(short, name, short)
    try:
        entry = family(name)
    except ConfigurationError as error:
        if colon:
            raise ConfigurationError(
                f"expected MODULE:ID with an id that {module} registers with Gymnasium "
                f"({', '.join(_registered_by(module)) or 'it registers none'}), got {name!r}"
            ) from error
        raise ConfigurationError(
            f"{error}; an environment of your own is MODULE:ID, where importing the module "
            "registers the id"
        ) from error
    return NamedEnv(entry.name, entry.id, entry.name)


def env_name(env_id: str, kwargs: Mapping[str, Any]) -> str:
    """Return the display name of an environment: the inverse of `resolve`.

    The name is the task set of the family with the fewest different arguments, followed by these:
    ``webshop:easy``, ``webshop:easy + size=500``. The name leaves out the player, the turn budget
    and the reward. Environments without a family are named by their ids.

    Args:
        env_id: Gymnasium id.
        kwargs: Keyword arguments beyond those of the id.
    """
    entry = next((entry for entry in families() if entry.id == env_id), None)
    if entry is None:
        return env_id
    usual = {**_defaults(entry.entry_point), **entry.kwargs}
    settings = {name: _comparable(value) for name, value in {**usual, **kwargs}.items()}
    differing: dict[str, list[str]] = {}
    for task_set in entry.all_task_sets:
        task_settings = {
            name: _comparable(value) for name, value in {**usual, **task_set.kwargs}.items()
        }
        names = {*task_set.kwargs, *kwargs} - _UNNAMED
        differing[task_set.name] = sorted(
            n for n in names if settings.get(n) != task_settings.get(n)
        )
    nearest = min(differing, key=lambda name: len(differing[name]))
    public = {name: hide_secrets(for_others(settings[name]), name) for name in differing[nearest]}
    more = " ".join(f"{name}={value:.{_VALUE}}" for name, value in public.items())
    return f"{entry.name}:{nearest}" + (f" + {more}" if more else "")


@cache
def _defaults(entry_point: str) -> Mapping[str, Any]:
    """Return the defaults of an environment; empty if its packages are missing."""
    try:
        creator: Any = load_env_creator(entry_point)
        return arguments(creator)
    except Exception:
        return {}


def _comparable(value: object) -> str:
    """Write a value as text for comparison: typed values, paths and tuples equal those in files."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, sort_keys=True, default=_plain_text)
    except (TypeError, ValueError):
        return type(value).__name__


def _plain_text(value: object) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else type(value).__name__


def _registered_by(module: str) -> list[str]:
    """Return the ids of the environments that a module registered."""
    return [name for name, spec in gymnasium.registry.items() if _home(spec) == module]


def _home(spec: EnvSpec) -> object:
    """Return the module that defines an environment: its argument ``module`` or its entry point."""
    if (module := spec.kwargs.get("module")) is not None:
        return module
    point = spec.entry_point
    return point.partition(":")[0] if isinstance(point, str) else getattr(point, "__module__", "")


def make(name: str, **kwargs: Any) -> gymnasium.Env[str, str]:
    """Make an environment, as ``gymnasium.make`` does.

    Args:
        name: A short name such as ``webshop``, a task set such as ``webshop:easy``, an id, or
            ``MODULE:ID``.
        kwargs: Arguments of ``gymnasium.make`` and of the environment.

    Raises:
        ConfigurationError: The name is unknown, or an argument is invalid.
    """
    named = resolve(name)
    return gymnasium.make(named.id, **{**named.kwargs, **kwargs})


def make_vec(
    name: str, num_envs: int = 1, **kwargs: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Make a vector environment, as ``gymnasium.make_vec``: an `agentgym.vector.TextVectorEnv`.

    Args:
        name: A short name such as ``webshop``, a task set such as ``webshop:easy``, an id, or
            ``MODULE:ID``.
        num_envs: Number of environments.
        kwargs: Arguments of ``gymnasium.make_vec`` and of the environments.

    Raises:
        ConfigurationError: The name is unknown, or an argument is invalid.
    """
    named = resolve(name)
    return gymnasium.make_vec(named.id, num_envs=num_envs, **{**named.kwargs, **kwargs})


def list_envs() -> dict[str, str]:
    """Return the short names of the installed families with their descriptions."""
    return {entry.name: entry.summary for entry in families()}


def make_env(env_id: str, kwargs: Mapping[str, Any], flag: str) -> TextEnv:
    """Make an environment, without Gymnasium's wrappers, from a user's arguments.

    Errors name the flag of the arguments, such as ``--env-kwargs``.

    Raises:
        AgentGymError: The environment does not accept an argument, cannot be made on this machine,
            or is not a text environment.
    """
    try:
        env = gymnasium.make(env_id, disable_env_checker=True, **kwargs)
    except AgentGymError:
        raise
    except Exception as error:
        _check_kind(env_id)
        if not kwargs:  # the user's arguments cannot be the cause
            raise
        reason = str(error).partition(_REPEATED)[0]
        raise ConfigurationError(
            f"expected {flag} that {env_id} takes, got {dict(kwargs)}: "
            f"{type(error).__name__}: {reason}"
        ) from error
    unwrapped = env.unwrapped
    if not isinstance(unwrapped, TextEnv):
        raise _not_text(env_id, type(unwrapped))
    return unwrapped


def make_named(name: str, kwargs: Mapping[str, Any], flag: str) -> TextEnv:
    """Make the environment with a name, as `make_env` does.

    Raises:
        AgentGymError: The name is unknown, or an error of `make_env`.
    """
    named = resolve(name)
    return make_env(named.id, {**named.kwargs, **kwargs}, flag)


def make_asked(
    name: str,
    pairs: Sequence[str],
    flag: str,
    grammar: str | None = None,
    suited: Mapping[str, Any] = MappingProxyType({}),
) -> TextEnv:
    """Make an environment from its name, ``name=value`` pairs and a grammar.

    Args:
        name: A name that `resolve` accepts.
        pairs: Arguments of the environment, each as name=value.
        flag: The flag that holds the pairs, such as ``--env-kwargs``.
        grammar: Grammar of actions; None: the grammar among the pairs, or the environment's
            default.
        suited: Defaults of arguments that neither the pairs nor the task set contain.

    Raises:
        AgentGymError: Two grammars are named, or an error of `make_env`.
    """
    kwargs = parse_pairs(pairs, flag)
    if grammar and kwargs.setdefault("grammar", grammar) != grammar:
        raise ConfigurationError(
            f"expected one grammar, got `grammar` {grammar} and {flag} "
            f"grammar={kwargs['grammar']}; leave one out"
        )
    named = resolve(name)
    return make_env(named.id, {**suited, **named.kwargs, **kwargs}, flag)


def _check_kind(env_id: str) -> None:
    """Raise if an id is not a text environment, so that the error does not blame the arguments."""
    point = gymnasium.spec(env_id).entry_point
    try:
        creator = load_env_creator(point) if isinstance(point, str) else point
    except Exception:
        return
    if isinstance(creator, type) and not issubclass(creator, TextEnv):
        raise _not_text(env_id, creator)


def _not_text(env_id: str, kind: type) -> ConfigurationError:
    return ConfigurationError(
        f"expected {env_id} to be an environment of text (an agentgym.core.TextEnv), got "
        f"{kind.__name__}"
    )


def parse_pairs(pairs: Sequence[str], flag: str) -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is JSON if it parses as JSON, otherwise plain text.

    Raises:
        ConfigurationError: A pair has no ``=`` or no name, or a name is given two values.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name.isidentifier():
            raise ConfigurationError(
                f"expected {flag} as name=value, such as difficulty=medium; got {pair!r}"
            )
        value = _value(text)
        if name in values and repr(values[name]) != repr(value):  # repr, because 1 == True
            raise ConfigurationError(
                f"expected one value of {name} in {flag}, got {values[name]!r} and {value!r}; "
                "leave one out"
            )
        values[name] = value
    return values


def _value(text: str) -> Any:
    """Parse a value as JSON; return the text if it is not JSON, or too large or too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
