"""The supplied reward hooks as JSON: a class name of a fixed table, and plain fields."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any

from agentgym.errors import DataError
from agentgym.hooks import TurnReward
from agentgym.rewards import (
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    SuccessBonus,
    TurnCost,
    family_potential,
    potential_gain,
)

_HOOKS: dict[str, Any] = {
    cls.__name__: cls
    for cls in (InvalidAction, Potential, Progressive, Repeat, SuccessBonus, TurnCost)
}
_NESTED: dict[str, dict[str, Any]] = {
    "phi": {"family_potential": family_potential},
    "alpha": {"LinearAlpha": LinearAlpha},
    "step": {"potential_gain": potential_gain, **_HOOKS},
}
"""What may stand in a field that holds a function, by the field's name."""
_DEPTH = 8


def hooks_to_json(hooks: Any) -> tuple[dict[str, Any], ...] | None:
    """Describe reward hooks so that `hooks_from_json` makes them again.

    Args:
        hooks: What was given as ``reward_hooks=``.

    Returns:
        For each hook its class name and fields; None unless all of them are supplied hooks of
        `agentgym.rewards` with nothing but plain values, supplied functions and such hooks inside.
    """
    if isinstance(hooks, str) or not isinstance(hooks, Sequence):
        return None
    found = [_describe(hook, _HOOKS, _DEPTH) for hook in hooks]
    return None if None in found else tuple(entry for entry in found if entry is not None)


def hooks_from_json(entries: Sequence[Any]) -> list[TurnReward]:
    """Make the reward hooks of a record; only names of a fixed table are known.

    Args:
        entries: What `hooks_to_json` returned.

    Returns:
        Fresh hooks.

    Raises:
        ConfigurationError: If a hook refuses the value of a field.
        DataError: If an entry is damaged or names something that is not supplied.
    """
    return [_build(entry, _HOOKS, f"reward_hooks[{i}]", _DEPTH) for i, entry in enumerate(entries)]


def _describe(value: Any, table: Mapping[str, Any], depth: int) -> dict[str, Any] | None:
    """Describe a hook, schedule or function of the table; None if it is not there."""
    for name, supplied in table.items():
        if value is supplied and not isinstance(supplied, type):
            return {"function": name}
        if type(value) is supplied and depth:
            return _describe_fields(name, value, depth)
    return None


def _describe_fields(name: str, value: Any, depth: int) -> dict[str, Any] | None:
    stored: dict[str, Any] = {}
    for entry in _arguments(type(value)):
        part = getattr(value, entry.name)
        if not _is_plain(part, entry):
            part = _describe(part, _NESTED.get(entry.name, {}), depth - 1)
            if part is None:
                return None
        stored[entry.name] = part
    return {"class": name, "fields": stored}


def _build(entry: Any, table: Mapping[str, Any], where: str, depth: int) -> Any:
    kind = "function" if isinstance(entry, Mapping) and "function" in entry else "class"
    name = entry.get(kind) if isinstance(entry, Mapping) else None
    supplied = table.get(name) if isinstance(name, str) else None
    if supplied is None or isinstance(supplied, type) != (kind == "class") or not depth:
        raise DataError(
            f"expected {' or '.join(table) or 'a value like the default'} at {where}, got "
            f"{entry!r:.80}: the record is damaged or of a later version; make the environment and "
            "pass it as env="
        )
    if kind == "function":
        return supplied
    stored = entry.get("fields")
    known = {argument.name: argument for argument in _arguments(supplied)}
    if not isinstance(stored, Mapping) or not set(stored) <= set(known):
        raise DataError(
            f"expected an object with fields of {', '.join(known)} at {where}.fields, "
            f"got {stored!r:.80}: the record is damaged or of a later version; make the "
            "environment and pass it as env="
        )
    values = {}
    for key, value in stored.items():
        if not _is_plain(value, known[key]):
            value = _build(value, _NESTED.get(key, {}), f"{where}.{key}", depth - 1)
        values[key] = value
    return supplied(**values)


def _arguments(cls: Any) -> list[Field[Any]]:
    return [entry for entry in fields(cls) if entry.init]


def _is_plain(value: Any, entry: Field[Any]) -> bool:
    """Return whether a value is of the type of the field's default, finite if it is a number."""
    default = entry.default
    assert default is not MISSING, f"{entry.name} needs a default"
    if isinstance(default, float | int) and not isinstance(default, bool):
        kinds = (int, float) if isinstance(default, float) else (int,)
        number = isinstance(value, kinds) and not isinstance(value, bool)
        return number and abs(value) <= sys.float_info.max
    return isinstance(default, bool | str) and isinstance(value, type(default))
