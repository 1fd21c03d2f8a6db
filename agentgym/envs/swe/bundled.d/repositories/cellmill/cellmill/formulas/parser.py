"""From tokens to a tree."""

from __future__ import annotations

from cellmill.addresses.cells import CellAddress
from cellmill.errors import AddressError, FormulaError
from cellmill.formulas.nodes import (
    AreaNode,
    Binary,
    Call,
    CellNode,
    Constant,
    NameNode,
    Node,
    Percent,
    Unary,
    height,
)
from cellmill.formulas.tokens import Token, tokens_of
from cellmill.functions.registry import check_count
from cellmill.values.kinds import ErrorValue, whole

BINDING = {
    "=": 1,
    "<>": 1,
    "<": 1,
    "<=": 1,
    ">": 1,
    ">=": 1,
    "&": 2,
    "+": 3,
    "-": 3,
    "*": 4,
    "/": 4,
    "^": 5,
}
"""How strongly an operator binds; operators of equal strength are taken from the left."""
DEEPEST = 60
"""How deep brackets may be nested."""
HIGHEST = 120
"""How many operators may stand on top of each other in a tree."""


def parse(text: str) -> Node:
    """Read a formula.

    Args:
        text: The formula, with or without its equals sign.

    Returns:
        Its tree.

    Raises:
        FormulaError: It is none: the message says what is wrong at which character.
    """
    body = text.strip()
    body = body[1:] if body.startswith("=") else body
    if not body.strip():
        raise FormulaError("the formula is empty", 0)
    return _Parser(tokens_of(body)).formula()


class _Parser:
    """Reads operators by precedence (Pratt, 1973)."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _accept(self, sign: str) -> bool:
        if self._next.kind == "sign" and self._next.text == sign:
            self._place += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise FormulaError(f"expected {sign!r}, got {_named(self._next)}", self._next.position)

    def formula(self) -> Node:
        node = self._expression(0)
        if self._next.kind != "end":
            raise FormulaError(f"unexpected {_named(self._next)}", self._next.position)
        if height(node) > HIGHEST:
            raise FormulaError("the formula is nested too deeply", 0)
        return node

    def _expression(self, least: int) -> Node:
        """Read operands joined by operators that bind more strongly than ``least``."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormulaError("the formula is nested too deeply", self._next.position)
        left = self._operand()
        while self._next.kind == "sign" and BINDING.get(self._next.text, 0) > least:
            operator = self._take().text
            left = Binary(operator, left, self._expression(BINDING[operator]))
        self._depth -= 1
        return left

    def _operand(self) -> Node:
        """Read a primary with its signs and percent signs."""
        signs = []
        while self._next.kind == "sign" and self._next.text in ("-", "+"):
            signs.append(self._take().text)
        node = self._primary()
        while self._accept("%"):
            node = Percent(node)
        for sign in reversed(signs):
            node = Unary(sign, node)
        return node

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return Constant(_number(token))
        if token.kind == "text":
            return Constant(token.text)
        if token.kind == "error":
            return Constant(ErrorValue(token.text))
        if token.kind == "sheet":
            if self._next.kind != "cell":
                raise FormulaError("expected a cell of the sheet", self._next.position)
            return self._reference(self._take(), token.text)
        if token.kind == "cell":
            return self._reference(token, "")
        if token.kind == "word":
            return self._word(token)
        if token == ("sign", "(", token.position):
            node = self._expression(0)
            self._expect(")")
            return node
        raise FormulaError(f"expected a value, got {_named(token)}", token.position)

    def _reference(self, token: Token, sheet: str) -> Node:
        """Read a cell, or an area if a colon follows."""
        first = _cell(token)
        if not self._accept(":"):
            return CellNode(first, sheet)
        if self._next.kind != "cell":
            raise FormulaError("expected the last cell of an area", self._next.position)
        return AreaNode(first, _cell(self._take()), sheet)

    def _word(self, token: Token) -> Node:
        """Read a call, a truth value or a name."""
        word = token.text.upper()
        if not self._accept("("):
            if word in ("TRUE", "FALSE"):
                return Constant(word == "TRUE")
            return NameNode(token.text)
        arguments: list[Node | None] = []
        if not self._accept(")"):
            arguments.append(self._argument())
            while self._accept(",") or self._accept(";"):
                arguments.append(self._argument())
            self._expect(")")
        check_count(word, len(arguments), token.position)
        return Call(word, tuple(arguments))

    def _argument(self) -> Node | None:
        if self._next.kind == "sign" and self._next.text in (",", ";", ")"):
            return None
        return self._expression(0)


def _number(token: Token) -> float:
    """Return the value of a number, whole where it is."""
    value = float(token.text)
    if value == float("inf"):
        raise FormulaError("the number is too large", token.position)
    return whole(value)


def _cell(token: Token) -> CellAddress:
    try:
        return CellAddress.read(token.text)
    except AddressError as error:
        raise FormulaError(str(error), token.position) from error


def _named(token: Token) -> str:
    return "the end" if token.kind == "end" else repr(token.text)
