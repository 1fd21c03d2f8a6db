"""From values to text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

BARE_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
NAMED = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def dumps(
    value: Any,
    indent: int | None = None,
    sort_keys: bool = False,
    bare_keys: bool = False,
    width: int = 0,
) -> str:
    """Write a value; without ``bare_keys`` the text is strict JSON where numbers are finite.

    Args:
        value: Made of dictionaries, lists, tuples, strings, numbers, booleans and ``None``.
        indent: Blanks for each level; ``None`` writes everything on one line.
        sort_keys: Whether the keys of an object are sorted.
        bare_keys: Whether keys that look like names go without quotes.
        width: With an indent, arrays and objects that fit into so many characters stay on a line.

    Raises:
        TypeError: Something in the value cannot be written.
    """

    def write(item: Any, level: int) -> str:
        if isinstance(item, Mapping):
            pairs = sorted(item.items()) if sort_keys else item.items()
            parts = [f"{write_key(key)}: {write(member, level + 1)}" for key, member in pairs]
            return join(parts, "{}", level)
        if isinstance(item, (list, tuple)):
            return join([write(member, level + 1) for member in item], "[]", level)
        return _scalar(item)

    def write_key(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"a key is a string, not {type(key).__name__}")
        return key if bare_keys and BARE_KEY.fullmatch(key) else quote(key)

    def join(parts: list[str], brackets: str, level: int) -> str:
        opening, closing = brackets[0], brackets[1]
        line = opening + ", ".join(parts) + closing
        if indent is None or not parts or (len(line) <= width and "\n" not in line):
            return line
        inner = "\n" + " " * (indent * (level + 1))
        outer = "\n" + " " * (indent * level)
        return opening + inner + ("," + inner).join(parts) + outer + closing

    return write(value, 0)


def quote(text: str) -> str:
    """Write a string in double quotes; control characters are escaped."""
    pieces = []
    for char in text:
        if char in NAMED:
            pieces.append(NAMED[char])
        elif ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0:
            pieces.append(f"\\u{ord(char):04x}")
        else:
            pieces.append(char)
    return '"' + "".join(pieces) + '"'


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return repr(value)
    raise TypeError(f"cannot write a value of type {type(value).__name__}")
