"""Arguments written as ``name=value``, which both commands read alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agentgym.errors import ConfigurationError


def parse_pairs(pairs: Sequence[str], flag: str) -> dict[str, Any]:
    """Read ``name=value`` pairs.

    Args:
        pairs: The pairs; a value is JSON where it parses as JSON, else plain text.
        flag: What they are called in messages, such as ``--set``.

    Returns:
        The values by name.

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
        if name in values and repr(values[name]) != repr(value):  # 1 == True, but not here
            raise ConfigurationError(
                f"expected one value of {name} in {flag}, got {values[name]!r} and {value!r}; "
                "leave one out"
            )
        values[name] = value
    return values


def _value(text: str) -> Any:
    """Read a value; what is no JSON, or too deep or long for its reader, stays text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def add_up(argv: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Let a flag that takes a list be repeated: ``--set a=1 --set b=2`` is ``--set a=1 b=2``.

    The parser would keep the last list only.

    Args:
        argv: Command-line arguments.
        flags: The flags that take lists, such as ``--set``.

    Returns:
        The arguments with each of these flags once, at the end.
    """
    rest: list[str] = []
    values: dict[str, list[str]] = {}
    open_list: list[str] | None = None
    for argument in argv:
        name, equals, value = argument.partition("=")
        flag = name.replace("_", "-")
        if flag in flags:
            found = values.setdefault(flag, [])
            found += [value] if equals else []
            open_list = None if equals else found
        elif open_list is None or argument.startswith("-"):
            open_list = None
            rest.append(argument)
        else:
            open_list.append(argument)
    for flag, found in values.items():
        rest += [flag, *found]
    return rest
