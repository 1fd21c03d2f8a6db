"""Tokens and conditions of queries."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from rowtable.errors import QueryError

TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign><=|>=|!=|<>|[=<>(),*]))"
)
Condition = Callable[[dict[str, Any]], bool]
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class Token(NamedTuple):
    """A word of a query."""

    kind: str
    """``string``, ``number``, ``name``, ``sign`` or ``end``."""
    text: str


class Tokens:
    """The words of a query, read from left to right."""

    def __init__(self, text: str) -> None:
        self._items: list[Token] = []
        self._position = 0
        position = 0
        while text[position:].strip():
            match = TOKEN.match(text, position)
            if match is None:
                raise QueryError(f"cannot read {text[position:].strip()!r}")
            self._items.append(Token(str(match.lastgroup), match[0].strip()))
            position = match.end()
        self._items.append(Token("end", ""))

    @property
    def next(self) -> Token:
        """The word that would be taken."""
        return self._items[self._position]

    def take(self) -> Token:
        """Take the next word."""
        token = self.next
        if token.kind != "end":
            self._position += 1
        return token

    def accept(self, *words: str) -> bool:
        """Take some words if they come next, whatever their case."""
        ahead = self._items[self._position : self._position + len(words)]
        if [token.text.lower() for token in ahead] != list(words):
            return False
        self._position += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Take some words that must come next."""
        if not self.accept(*words):
            found = self.next.text or "the end"
            raise QueryError(f"expected {' '.join(words)!r}, found {found!r}")

    def name(self) -> str:
        """Take a name."""
        token = self.take()
        if token.kind != "name":
            raise QueryError(f"expected a name, found {token.text or 'the end'!r}")
        return token.text

    def whole_number(self) -> int:
        """Take a number without fraction and sign."""
        token = self.take()
        if not token.text.isdigit():
            raise QueryError(f"expected a whole number, found {token.text or 'the end'!r}")
        return int(token.text)


def parse_condition(tokens: Tokens) -> Condition:
    """Read a condition; ``not`` binds more closely than ``and``, and that more than ``or``."""
    parts = [_conjunction(tokens)]
    while tokens.accept("or"):
        parts.append(_conjunction(tokens))
    return lambda row: any(part(row) for part in parts)


def _conjunction(tokens: Tokens) -> Condition:
    parts = [_negation(tokens)]
    while tokens.accept("and"):
        parts.append(_negation(tokens))
    return lambda row: all(part(row) for part in parts)


def _negation(tokens: Tokens) -> Condition:
    if tokens.accept("not"):
        inner = _negation(tokens)
        return lambda row: not inner(row)
    if tokens.accept("("):
        inner = parse_condition(tokens)
        tokens.expect(")")
        return inner
    return _comparison(tokens)


def _comparison(tokens: Tokens) -> Condition:
    left = _operand(tokens)
    if tokens.accept("is", "null"):
        return lambda row: left(row) is None
    if tokens.accept("is", "not", "null"):
        return lambda row: left(row) is not None
    if tokens.accept("like"):
        regex = like_regex(str(_literal(tokens)))
        return lambda row: left(row) is not None and bool(regex.fullmatch(str(left(row))))
    if tokens.accept("in"):
        values = _list(tokens)
        return lambda row: left(row) is not None and left(row) in values
    sign = tokens.take().text
    if sign not in COMPARISONS:
        raise QueryError(f"expected a comparison, found {sign or 'the end'!r}")
    compare = COMPARISONS[sign]
    right = _operand(tokens)
    return lambda row: _compare(compare, left(row), right(row))


def _compare(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    """Compare two values; a missing one compares with nothing."""
    return left is not None and right is not None and compare(left, right)


def _operand(tokens: Tokens) -> Callable[[dict[str, Any]], Any]:
    if tokens.next.kind != "name":
        value = _literal(tokens)
        return lambda row: value
    name = tokens.name()

    def look_up(row: dict[str, Any]) -> Any:
        if name not in row:
            raise QueryError(f"no column {name!r}")
        return row[name]

    return look_up


def _literal(tokens: Tokens) -> Any:
    token = tokens.take()
    if token.kind == "string":
        return token.text[1:-1].replace("''", "'")
    if token.kind == "number":
        return float(token.text) if "." in token.text else int(token.text)
    raise QueryError(f"expected a value, found {token.text or 'the end'!r}")


def _list(tokens: Tokens) -> list[Any]:
    tokens.expect("(")
    values = [_literal(tokens)]
    while tokens.accept(","):
        values.append(_literal(tokens))
    tokens.expect(")")
    return values


def like_regex(pattern: str) -> re.Pattern[str]:
    """Translate a pattern of ``like``: ``%`` is any text, ``_`` any character, case is ignored."""
    pieces = {"%": ".*", "_": "."}
    source = "".join(pieces.get(char, re.escape(char)) for char in pattern)
    return re.compile(source, re.IGNORECASE | re.DOTALL)
