"""Claims: the values that a file contains, classified by the table."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.envs.registration import load_env_creator

from agentgym.registration import FAMILIES, EnvFamily, find_family
from agentgym.registration.imports import split
from agentgym.registration.making import parse_pairs
from agentgym.support.nested import flat
from agentgym.support.redaction import for_others, hide_secrets
from agentgym.trust.table import (
    BASE,
    DEEDS,
    ENVIRONMENTS,
    HOOKS,
    MAKE,
    PATH,
    PLAIN,
    POLICIES,
    POLICY_ARGUMENTS,
    POLICY_NAMES,
    TOOLS,
    UNKNOWN,
    Entry,
    EnvKind,
    Nature,
    SettingGroup,
    ships_with_gymnasium,
)

Table = Mapping[str, Entry | SettingGroup]
TOOL_ENVIRONMENTS = "agentgym.authoring.tools.register"
"""Module that makes environments from tools that a user's module registers."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One value of a file, and whether it needs the user's consent."""

    name: str
    """The argument or setting, such as ``sandbox``."""
    value: Any
    """Its value."""
    nature: Nature
    """Its class in the table."""

    @property
    def plain(self) -> bool:
        """Whether it needs no consent."""
        return self.nature == "plain"

    @property
    def text(self) -> str:
        """``NAME=VALUE``, as ``--trust`` accepts it; secrets are hidden, as in stored files."""
        public = hide_secrets(for_others(self.value), self.name)
        return (
            f"{self.name}={public if isinstance(public, str) else json.dumps(public, default=str)}"
        )

    @property
    def deed(self) -> str:
        """What the value would do, in words."""
        return DEEDS[self.nature]


def claim(name: str, value: Any, entry: Entry) -> Claim:
    """Classify a value by its row of the table."""
    return Claim(name, value, entry.nature_of(value))


def env_claims(env: str, arguments: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of an environment's name and arguments.

    Args:
        env: A name that `agentgym.registration.making.resolve` accepts, or an id.
        arguments: Keyword arguments of the environment.
    """
    return [_name_claim(env), *argument_claims(env, arguments)]


def argument_claims(env: str, arguments: Mapping[str, Any]) -> list[Claim]:
    """Return the claims of the arguments of an environment whose name the user typed."""
    rows, registered = argument_rows(env), _registered_arguments(env)
    return [
        # An argument that the user's own id already implies needs no further consent.
        claim(name, value, PLAIN if _is_same(registered, name, value) else rows.get(name, UNKNOWN))
        for name, value in arguments.items()
    ]


def _registered_arguments(env: str) -> Mapping[str, Any]:
    """Return the arguments with which an id, or another project's environment, is registered."""
    if (parts := split(env)) is not None:
        return {"reference": parts[1]}
    spec = gymnasium.registry.get(env)
    return spec.kwargs if spec is not None else {}


def _is_same(arguments: Mapping[str, Any], name: str, value: Any) -> bool:
    """Return whether a value read from a file equals an argument."""
    if name not in arguments:
        return False
    return json.dumps(arguments[name], default=str) == json.dumps(value, default=str)


def _name_claim(env: str) -> Claim:
    if (parts := split(env)) is not None:
        prefix, reference = parts
        entry = ENVIRONMENTS.get(prefix, EnvKind(UNKNOWN)).reference
        return Claim("env", f"{prefix}:{reference}", entry.nature_of(reference))
    if (family := find_family(env.partition(":")[0])) is not None:
        # A package that adds a family was installed by the user, and every command imports it.
        return claim("env", env, ENVIRONMENTS.get(family.name, EnvKind()).reference)
    return claim("env", env, PLAIN if _is_imported(env) or ships_with_gymnasium(env) else UNKNOWN)


def argument_rows(env: str) -> Mapping[str, Entry]:
    """Return the rows of an environment's arguments, by its name or id."""
    parts, family = split(env), find_family(env.partition(":")[0])
    word = parts[0] if parts else family.name if family else _family_of_id(env)
    if word in ENVIRONMENTS:
        return {**MAKE, **BASE, **ENVIRONMENTS[word].arguments}
    module, cls = ("", _imported_class(family)) if family else _registered(env)
    if module == TOOL_ENVIRONMENTS:
        return {**MAKE, **BASE, **TOOLS}
    return {**MAKE, **BASE, **dict.fromkeys(getattr(cls, "plain_arguments", ()), PLAIN)}


def _imported_class(family: EnvFamily) -> Any:
    """Return the class of an installed package's family; None if it cannot be imported."""
    try:
        return load_env_creator(family.entry_point)
    except Exception:  # Making the environment reports it.
        return None


def _family_of_id(env: str) -> str:
    """Return the family whose environment class a third-party id makes; empty if there is none."""
    spec = gymnasium.registry.get(env)
    point = spec.entry_point if spec is not None else None
    return next((entry.name for entry in FAMILIES if entry.entry_point == point), "")


def _is_imported(env: str) -> bool:
    """Return whether a registered environment's code is already imported.

    Naming it in a file then runs no new code.
    """
    return _registered(env)[0] in sys.modules or bool(_family_of_id(env))


def _registered(env: str) -> tuple[str, Any]:
    """Return the module of a registered id, and its entry point if that is already imported."""
    spec = gymnasium.registry.get(env)
    point = spec.entry_point if spec is not None else None
    if not isinstance(point, str):
        return getattr(point, "__module__", ""), point
    module, _, name = point.partition(":")
    return module, getattr(sys.modules.get(module), name, None)


def hook_claims(hooks: Iterable[str], name: str = "reward_hooks") -> list[Claim]:
    """Return the claims of reward hooks, written as for ``--reward-hooks``."""
    heads = ((str(hook), str(hook).partition(":")[0].partition("=")[0]) for hook in hooks)
    return [claim(name, hook, HOOKS.get(head, UNKNOWN)) for hook, head in heads]


def policy_claims(policy: str) -> list[Claim]:
    """Return the claim of a policy's name."""
    head, colon, _ = policy.partition(":")
    if colon:
        return [claim("policy", policy, POLICIES.get(head, UNKNOWN))]
    named = POLICY_NAMES.fullmatch(policy) or not _leads_somewhere(policy)
    return [claim("policy", policy, PLAIN if named else PATH)]


def _leads_somewhere(name: str) -> bool:
    return os.path.basename(name) != name or os.path.exists(name)


def setting_claims(
    settings: Mapping[str, Any], table: Table, envs: Sequence[str] = ()
) -> list[Claim]:
    """Return the claims of settings.

    Args:
        settings: Values by name; names are nested or joined by dots.
        table: `agentgym.trust.EVALUATION` or `agentgym.trust.TRAINING`.
        envs: Environments that ``env_kwargs`` belong to, besides those named in the settings.
    """
    entries = [entry for name in ("env", "envs") for entry in _environments(settings.get(name))]
    names = [*dict.fromkeys(entry for entry in entries if isinstance(entry, str))]
    claims = [_name_claim(env) for env in names]
    for entry in entries:
        if isinstance(entry, Mapping):
            claims += setting_claims(entry, table)
            names.append(str(entry.get("env") or ""))
    for name, value in _by_row(settings, table):
        claims += _setting(name, value, table.get(name, UNKNOWN), [*names, *envs])
    return claims


def _by_row(settings: Mapping[str, Any], table: Table) -> Iterator[tuple[str, Any]]:
    """Yield the settings, nested ones flattened to the dotted names of the table."""
    for name, value in settings.items():
        if table.get(name) is SettingGroup.ENVIRONMENTS:
            continue
        if isinstance(value, Mapping) and name not in table:
            yield from flat(value, f"{name}.").items()
        else:
            yield name, value


def _environments(value: Any) -> list[Any]:
    """Return the environments of a setting: a text with commas, or a list in a file."""
    if isinstance(value, str):
        # Split exactly as the code that resolves the names, so that no name escapes the check.
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, list | tuple) else []


def _setting(name: str, value: Any, row: Entry | SettingGroup, envs: Sequence[str]) -> list[Claim]:
    if value is None or value == "":
        return []
    if row is SettingGroup.HOOKS:
        return hook_claims(_listed(value), name)
    if row is SettingGroup.POLICY_ARGUMENTS:
        return [claim(k, v, POLICY_ARGUMENTS.get(k, UNKNOWN)) for k, v in _pairs(value, name)]
    if row is SettingGroup.ENV_ARGUMENTS:
        rows = [argument_rows(env) for env in envs] or [{**MAKE, **BASE}]
        return [_of_any(key, part, rows) for key, part in _pairs(value, name)]
    assert isinstance(row, Entry)
    return [claim(name, part, row) for part in _listed(value)]


def _of_any(key: str, value: Any, rows: Sequence[Mapping[str, Entry]]) -> Claim:
    """Return the claim of an argument of several environments; not plain if any of them is not."""
    name = key.rpartition(".")[2]
    entries = [row[name] for row in rows if name in row] or [UNKNOWN]
    claims = [claim(key, value, entry) for entry in entries]
    return next((candidate for candidate in claims if not candidate.plain), claims[0])


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _pairs(value: Any, name: str) -> list[tuple[str, Any]]:
    """Read pairs from a mapping or from texts ``name=value``, with or without a prefix ``env.``."""
    if isinstance(value, Mapping):
        return [(str(key), part) for key, part in value.items()]
    pairs = []
    for text in _listed(value):
        owner, dot, name_part = str(text).partition(".")
        prefix = f"{owner}." if dot and "=" not in owner else ""
        values = parse_pairs([name_part if prefix else str(text)], f"`{name}`")
        pairs += [(f"{prefix}{key}", part) for key, part in values.items()]
    return pairs
