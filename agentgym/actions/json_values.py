"""JSON in actions: read without losing a digit, and written so that every grammar can hold it."""

from __future__ import annotations

import json
from typing import Any

from agentgym.actions.specs import JSON_TYPES

_ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<[]`"}
"""Marks by which grammars end a value: inside of a JSON text an escape stands for them."""


class Digits(str):
    """A number as it was written."""

    __slots__ = ()


def _word(token: str) -> str:
    return token


DECODER = json.JSONDecoder(strict=False, parse_int=Digits, parse_float=Digits, parse_constant=_word)
"""Reads JSON whose numbers stay text, so that no digit is lost; NaN and infinity are words."""


def compact(value: Any) -> str:
    """Write what `DECODER` read on one line, with every number as it was."""
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
    """Bring a list or an object, or the text of one, to canonical text.

    Args:
        value: What a call holds: a text, or what `DECODER` read.
        kind: One of `JSON_TYPES`.

    Returns:
        The text; None if it is no such value.
    """
    try:
        if isinstance(value, str):
            text = value.strip()
            value, end = DECODER.raw_decode(text)
            if end != len(text):
                return None
        return compact(value) if isinstance(value, JSON_TYPES[kind]) else None
    except (ValueError, RecursionError):
        return None
