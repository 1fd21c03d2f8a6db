"""JSON arguments of actions: parsed without loss of digits, written for use in every grammar."""

from __future__ import annotations

import json
from typing import Any

from agentgym.actions.specs import ANY, JSON_TYPES

_ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<[]`"}
"""Characters that can end a value in some grammar, with their escapes in JSON strings."""


class Digits(str):
    """A number with the digits of the source text."""

    __slots__ = ()


def _word(token: str) -> str:
    return token


DECODER = json.JSONDecoder(strict=False, parse_int=Digits, parse_float=Digits, parse_constant=_word)
"""Decodes JSON with numbers as `Digits`, so that no digit is lost; NaN and infinity become
strings."""


def compact(value: Any) -> str:
    """Write a value read by `DECODER` on one line, with the original digits of every number."""
    if isinstance(value, Digits):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(compact, value))}]"
    if isinstance(value, dict):
        rows = (f"{compact(key)}: {compact(inner)}" for key, inner in value.items())
        return f"{{{', '.join(rows)}}}"
    text = json.dumps(value, ensure_ascii=False)
    return text.translate(_ESCAPED) if isinstance(value, str) else text


def json_value(value: Any, kind: str) -> str | None:
    """Return the canonical text of a list or an object, given as a value or as JSON text.

    Args:
        value: The argument of a call: text, or a value read by `DECODER`.
        kind: One of `JSON_TYPES`.

    Returns:
        The text; None if the value is not of this kind.
    """
    try:
        if isinstance(value, str) and not isinstance(value, Digits):
            text = value.strip()
            try:
                decoded, end = DECODER.raw_decode(text)
            except ValueError:
                decoded, end = None, -1
            if end == len(text):
                value = decoded
            elif kind != ANY:
                return None
        return compact(value) if isinstance(value, JSON_TYPES[kind]) else None
    except (ValueError, RecursionError):
        return None
