"""Types of arguments: from Python's annotations to JSON schemas, words and checked values."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from agentgym.authoring.tools.tool_actions import BadArgument
from agentgym.errors import ConfigurationError

KINDS: Mapping[type, tuple[str, str, str]] = {
    str: ("string", "text", "texts"),
    int: ("integer", "an integer", "integers"),
    float: ("number", "a number", "numbers"),
    bool: ("boolean", "true or false", "truth values"),
}
"""JSON's type, one of them in words, and several."""
KNOWN = "str, int, float, bool, Literal, Optional, and list and dict[str, ...] of these"


def optional(hint: Any) -> tuple[Any, bool]:
    """Return the type without None, and whether None was part of it."""
    if get_origin(hint) in (Union, types.UnionType):
        hints = [part for part in get_args(hint) if part is not type(None)]
        if len(hints) == 1:
            return hints[0], len(hints) < len(get_args(hint))
    return hint, False


def schema_of(hint: Any, owner: str) -> dict[str, Any]:
    """Describe a type as a JSON schema.

    Args:
        hint: The annotation.
        owner: Whose it is, for the message.

    Raises:
        ConfigurationError: There is no such type among those that tools take.
    """
    inner, nullable = optional(hint)
    if nullable:
        return {"anyOf": [schema_of(inner, owner), {"type": "null"}]}
    if hint in KINDS:
        return {"type": KINDS[hint][0]}
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        for kind in (str, int):
            if all(type(part) is kind for part in parts):
                return {"type": KINDS[kind][0], "enum": list(parts)}
    if hint is list or origin is list:
        return {"type": "array", **({"items": schema_of(parts[0], owner)} if parts else {})}
    if hint is dict or (origin is dict and parts[0] is str):
        schema: dict[str, Any] = {"type": "object"}
        if parts:
            schema["additionalProperties"] = schema_of(parts[1], owner)
        return schema
    raise ConfigurationError(
        f"expected {owner} to be annotated with one of {KNOWN}; got {hint!r:.120}"
    )


def words(hint: Any, plural: bool = False) -> str:
    """Say what a type is, one or several of it."""
    inner, nullable = optional(hint)
    if nullable:
        return f"{words(inner, plural)} or null"
    if hint in KINDS:
        return KINDS[hint][1 + plural]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"{'any' if plural else 'one'} of {', '.join(map(str, parts))}"
    name = ("lists" if plural else "a list", "objects" if plural else "an object")
    if hint is list or origin is list:
        return f"{name[0]} of {words(parts[0], True)}" if parts else name[0]
    return f"{name[1]} with {words(parts[1], True)}" if parts else name[1]


def fitted(value: Any, hint: Any, name: str) -> Any:
    """Return a value as its type says.

    Args:
        value: What was read of JSON or of a text.
        hint: The annotation.
        name: The argument, for the message.

    Raises:
        BadArgument: It is of another type; the message is for the policy.
    """
    try:
        return _fitted(value, hint)
    except (ValueError, OverflowError):
        excerpt = f"{value!r:.80}"
        raise BadArgument(f"invalid: {name} must be {words(hint)}, got {excerpt}") from None


def _fitted(value: Any, hint: Any) -> Any:
    inner, nullable = optional(hint)
    if nullable:
        return None if value is None else _fitted(value, inner)
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal and type(value) in (str, int) and value in parts:
        return value
    if hint is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if hint in (str, int, bool) and type(value) is hint:
        return value
    if (hint is list or origin is list) and isinstance(value, list):
        return [_fitted(member, parts[0]) for member in value] if parts else value
    if (hint is dict or origin is dict) and isinstance(value, dict):
        return {key: _fitted(member, parts[1]) for key, member in value.items()} if parts else value
    raise ValueError
