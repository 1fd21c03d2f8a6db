"""From a text to tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from pocketsql.errors import ParseError

_WORDS = """
    all and as asc begin between by case cast check commit create cross default delete desc
    distinct drop else end escape except exists explain false from group having if in inner insert
    intersect into is join left like limit not null offset on or order outer primary references
    rollback select set table then true union unique update values when where
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that are no names unless they stand in double quotes."""


class Token(NamedTuple):
    """A piece of SQL.

    Attributes:
        kind: ``keyword``, ``name``, ``integer``, ``real``, ``text``, ``sign``, ``parameter`` or
            ``end``.
        text: The piece; keywords and names in small letters, texts without quotes.
        line: Its line.
        column: Its first character in this line.
    """

    kind: str
    text: str
    line: int
    column: int


_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<real>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<integer>[0-9]+)
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")+")
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<parameter>\?)
    |(?P<sign><>|!=|<=|>=|\|\||/(?!\*)|[-+*%=<>(),.;])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokens_of(text: str) -> list[Token]:
    """Cut SQL into tokens, the last of which has the kind ``end``.

    Raises:
        ParseError: A character belongs to no token.
    """
    found: list[Token] = []
    place, line, start = 0, 1, 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ParseError(_problem(text, place), line, place - start + 1)
        kind, piece = str(match.lastgroup), match.group()
        if kind != "space":
            found.append(_token(kind, piece, line, place - start + 1))
        breaks = piece.count("\n")
        if breaks:
            line += breaks
            start = place + piece.rindex("\n") + 1
        place = match.end()
    found.append(Token("end", "", line, place - start + 1))
    return found


def _token(kind: str, piece: str, line: int, column: int) -> Token:
    if kind == "word":
        word = piece.lower()
        return Token("keyword" if word in KEYWORDS else "name", word, line, column)
    if kind == "text":
        return Token("text", piece[1:-1].replace("''", "'"), line, column)
    if kind == "quoted":
        return Token("name", piece[1:-1].replace('""', '"'), line, column)
    if piece == "!=":
        piece = "<>"
    return Token(kind, piece, line, column)


def _problem(text: str, place: int) -> str:
    if text[place] == "'":
        return "the text is not closed"
    if text[place] == '"':
        return "the name in quotes is empty or not closed"
    if text.startswith("/*", place):
        return "the comment is not closed"
    return f"unexpected {text[place]!r}"
