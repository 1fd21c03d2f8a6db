"""From the text of a formula to tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from cellmill.errors import FormulaError
from cellmill.values.kinds import ErrorValue


class Token(NamedTuple):
    """A piece of a formula.

    Attributes:
        kind: ``number``, ``text``, ``error``, ``sheet``, ``cell``, ``word``, ``sign`` or ``end``.
        text: The piece; for texts and sheets without quotes, for sheets without the mark.
        position: Where it begins.
    """

    kind: str
    text: str
    position: int


_PATTERNS = (
    ("number", re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")),
    ("quoted sheet", re.compile(r"'((?:[^']|'')+)'!")),
    ("sheet", re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)!")),
    ("text", re.compile(r'"((?:[^"]|"")*)"')),
    ("cell", re.compile(r"\$?[A-Za-z]{1,3}\$?[0-9]{1,7}(?![A-Za-z0-9_.(])")),
    ("word", re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")),
    ("sign", re.compile(r"<=|>=|<>|[-+*/^&=<>%(),:;]")),
)


def tokens_of(text: str) -> list[Token]:
    """Cut the text of a formula into tokens, the last of which has the kind ``end``.

    Args:
        text: The formula without its equals sign.

    Raises:
        FormulaError: A character belongs to no token.
    """
    found: list[Token] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        token, place = _next(text, place)
        found.append(token)
    found.append(Token("end", "", len(text)))
    return found


def _next(text: str, place: int) -> tuple[Token, int]:
    """Return the token at a place and where it ends."""
    if text[place] == "#":
        for error in ErrorValue:
            if text.startswith(error.value, place):
                return Token("error", error.value, place), place + len(error.value)
    for kind, pattern in _PATTERNS:
        match = pattern.match(text, place)
        if match is None:
            continue
        piece = match.group()
        if kind == "text":
            piece = match.group(1).replace('""', '"')
        elif kind == "quoted sheet":
            kind, piece = "sheet", match.group(1).replace("''", "'")
        elif kind == "sheet":
            piece = match.group(1)
        return Token(kind, piece, place), match.end()
    if text[place] == '"':
        raise FormulaError("the text is not closed", place)
    raise FormulaError(f"unexpected {text[place]!r}", place)
