"""From characters to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from laxjson.errors import LaxJSONError

PUNCTUATION = "{}[]:,"
WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?|Infinity|NaN)"
)
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


class Token(NamedTuple):
    """A piece of the text with a meaning of its own."""

    kind: str
    """``string``, ``number``, ``word``, ``end`` or the punctuation character itself."""
    value: Any
    """The value of a string or number, the text of anything else."""
    offset: int
    """Where it begins in the text."""


def tokenize(text: str) -> Iterator[Token]:
    """Split a text into tokens; the last one is of kind ``end``.

    Raises:
        LaxJSONError: A character begins no token, or a string or comment does not end.
    """
    position = skip_blank(text, 0)
    while position < len(text):
        char = text[position]
        if char in PUNCTUATION:
            yield Token(char, char, position)
            end = position + 1
        elif char in "\"'":
            value, end = read_string(text, position)
            yield Token("string", value, position)
        elif match := NUMBER.match(text, position):
            end = match.end()
            if WORD.match(text, end):
                raise LaxJSONError("a number runs into a word", text, position)
            yield Token("number", to_number(match[0]), position)
        elif match := WORD.match(text, position):
            end = match.end()
            yield Token("word", match[0], position)
        else:
            raise LaxJSONError(f"unexpected character {char!r}", text, position)
        position = skip_blank(text, end)
    yield Token("end", "", len(text))


def skip_blank(text: str, position: int) -> int:
    """Find the next place that is neither white space nor comment."""
    while position < len(text):
        if text[position].isspace() or text[position] == "\ufeff":
            position += 1
        elif text[position] == "#" or text.startswith("//", position):
            newline = text.find("\n", position)
            position = len(text) if newline < 0 else newline + 1
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            if end < 0:
                raise LaxJSONError("a comment does not end", text, position)
            position = end + 2
        else:
            break
    return position


def to_number(text: str) -> int | float:
    """Convert the text of a number; it is a float if it has a point or an exponent."""
    text = text.replace("_", "")
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits[2:], 16)
    if digits == "Infinity":
        return sign * float("inf")
    if digits == "NaN" or not digits.isdigit():
        return sign * float(digits)
    return sign * int(digits)


def read_string(text: str, start: int) -> tuple[str, int]:
    """Read a string from its opening quote.

    Returns:
        The value, and the offset after the closing quote.
    """
    quote = text[start]
    pieces: list[str] = []
    position = start + 1
    while position < len(text):
        char = text[position]
        if char == quote:
            return "".join(pieces), position + 1
        if char == "\n":
            break
        if char == "\\":
            piece, position = read_escape(text, position)
            pieces.append(piece)
        else:
            pieces.append(char)
            position += 1
    raise LaxJSONError("a string does not end", text, start)


def read_escape(text: str, start: int) -> tuple[str, int]:
    """Read an escape from its backslash; return its value and the offset after it."""
    char = text[start + 1 : start + 2]
    if char == "u":
        code, end = _hex(text, start, 4)
        if 0xD800 <= code < 0xDC00 and text.startswith("\\u", end):
            low, low_end = _hex(text, end, 4)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), low_end
        return chr(code), end
    if char == "x":
        code, end = _hex(text, start, 2)
        return chr(code), end
    if char == "\n":
        return "", start + 2
    return ESCAPES.get(char, char), start + 2


def _hex(text: str, start: int, count: int) -> tuple[int, int]:
    """Read some hexadecimal digits after a backslash and a letter."""
    end = start + 2 + count
    digits = text[start + 2 : end]
    if len(digits) < count or not re.fullmatch(r"[0-9a-fA-F]+", digits):
        raise LaxJSONError(f"an escape needs {count} hexadecimal digits", text, start)
    return int(digits, 16), end
