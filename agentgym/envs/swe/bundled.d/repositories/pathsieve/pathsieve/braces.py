"""Alternatives in braces: ``{a,b}`` and ``{1..3}``."""

from __future__ import annotations

import re

RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?|([a-zA-Z])\.\.([a-zA-Z])")


def expand_braces(text: str) -> list[str]:
    """List all texts that a text with braces stands for, in order.

    ``a{b,c}`` stands for ``ab`` and ``ac``; ``{01..10..3}`` counts with a step and keeps leading
    zeros; ``{a..e}`` counts letters. Braces may be nested. Braces without a comma or range, and
    those after a backslash, stand for themselves.
    """
    opening = 0
    while (opening := _find(text, "{", opening)) >= 0:
        closing = _closing(text, opening)
        if closing >= 0:
            choices = _choices(text[opening + 1 : closing])
            if choices is not None:
                head = text[:opening]
                tails = expand_braces(text[closing + 1 :])
                return [head + choice + tail for choice in choices for tail in tails]
        opening += 1
    return [text]


def _choices(inner: str) -> list[str] | None:
    """What the inside of a pair of braces stands for; ``None`` if it is no choice."""
    match = RANGE.fullmatch(inner)
    if match is not None:
        return _letters(match[4], match[5]) if match[4] else _numbers(match[1], match[2], match[3])
    parts = _split(inner)
    if len(parts) < 2:
        return None
    return [choice for part in parts for choice in expand_braces(part)]


def _numbers(first: str, last: str, step: str | None) -> list[str]:
    start, stop = int(first), int(last)
    stride = max(int(step or 1), 1)
    padded = any(len(end.lstrip("-")) > 1 and end.lstrip("-")[0] == "0" for end in (first, last))
    width = max(len(first), len(last)) if padded else 0
    direction = 1 if start <= stop else -1
    numbers = range(start, stop + direction, direction * stride)
    return [f"{number:0{width}d}" for number in numbers]


def _letters(first: str, last: str) -> list[str]:
    direction = 1 if first <= last else -1
    return [chr(code) for code in range(ord(first), ord(last) + direction, direction)]


def _find(text: str, char: str, start: int) -> int:
    """Find a character that no backslash precedes; -1 if there is none."""
    position = start
    while position < len(text):
        if text[position] == "\\":
            position += 2
            continue
        if text[position] == char:
            return position
        position += 1
    return -1


def _closing(text: str, opening: int) -> int:
    """Find the brace that closes the one at ``opening``; -1 if there is none."""
    depth = 0
    position = opening
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return -1


def _split(inner: str) -> list[str]:
    """Split at the commas that stand in no inner braces."""
    parts = [""]
    depth = 0
    escaped = False
    for char in inner:
        if char == "," and depth == 0 and not escaped:
            parts.append("")
            continue
        if not escaped:
            depth += (char == "{") - (char == "}")
        escaped = char == "\\" and not escaped
        parts[-1] += char
    return parts
