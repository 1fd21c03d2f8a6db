"""The parser of expressions: from the weakest operator to the strongest."""

from __future__ import annotations

from collections.abc import Callable

from pocketsql.errors import ParseError
from pocketsql.storage.types import LARGEST, type_named
from pocketsql.syntax.nodes import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    ColumnRef,
    Exists,
    Expression,
    InList,
    InQuery,
    IsNull,
    Like,
    Literal,
    Parameter,
    Query,
    ScalarQuery,
    Unary,
    height,
)
from pocketsql.syntax.stream import TokenStream

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
"""Operators that compare."""
LONGEST = 100
"""Most operators of one level in a row."""
HIGHEST = 110
"""How many operators may stand on top of each other in a tree."""


class ExpressionParser:
    """Reads expressions.

    Args:
        tokens: Where from.
        query: Reads a query, for subqueries.
    """

    def __init__(self, tokens: TokenStream, query: Callable[[], Query]) -> None:
        self._tokens = tokens
        self._query = query

    def expression(self) -> Expression:
        """Read an expression."""
        self._tokens.enter()
        node = self._chain(("or",), lambda: self._chain(("and",), self._negation))
        self._tokens.leave()
        if height(node) > HIGHEST:
            raise self._tokens.error("nested too deeply")
        return node

    def _chain(self, operators: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        """Read operands with operators of one strength between them, from the left."""
        node = operand()
        for _ in range(LONGEST):
            operator = next((sign for sign in operators if self._tokens.accept(sign)), None)
            if operator is None:
                return node
            node = Binary(operator, node, operand())
        raise self._tokens.error("too many operators in a row")

    def _negation(self) -> Expression:
        if self._tokens.accept("not"):
            self._tokens.enter()
            node = Unary("not", self._negation())
            self._tokens.leave()
            return node
        return self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        tokens = self._tokens
        for operator in COMPARISONS:
            if tokens.accept(operator):
                return Binary(operator, left, self._sum())
        if tokens.accept("is"):
            negated = tokens.accept("not")
            tokens.expect("null")
            return IsNull(left, negated)
        negated = tokens.accept("not")
        if tokens.accept("between"):
            low = self._sum()
            tokens.expect("and")
            return Between(left, low, self._sum(), negated)
        if tokens.accept("like"):
            pattern = self._sum()
            return Like(left, pattern, self._sum() if tokens.accept("escape") else None, negated)
        if tokens.accept("in"):
            return self._membership(left, negated)
        if negated:
            raise tokens.error(f"expected BETWEEN, LIKE or IN, got {tokens.named()}")
        return left

    def _membership(self, left: Expression, negated: bool) -> Expression:
        tokens = self._tokens
        tokens.expect("(")
        if tokens.ahead("select"):
            node: Expression = InQuery(left, self._query(), negated)
        else:
            node = InList(left, self.several(), negated)
        tokens.expect(")")
        return node

    def several(self) -> tuple[Expression, ...]:
        """Read expressions with commas between them."""
        found = [self.expression()]
        while self._tokens.accept(","):
            found.append(self.expression())
        return tuple(found)

    def _sum(self) -> Expression:
        return self._chain(("||",), lambda: self._chain(("+", "-"), self._product))

    def _product(self) -> Expression:
        return self._chain(("*", "/", "%"), self._signed)

    def _signed(self) -> Expression:
        for sign in ("-", "+"):
            if self._tokens.accept(sign):
                self._tokens.enter()
                operand = self._signed()
                self._tokens.leave()
                return Unary(sign, operand)
        return self._primary()

    def _primary(self) -> Expression:
        tokens = self._tokens
        if tokens.next.kind in ("integer", "real", "text"):
            return self._literal()
        if tokens.next.kind == "parameter":
            tokens.take()
            tokens.parameters += 1
            return Parameter(tokens.parameters - 1)
        if tokens.next.kind == "name":
            return self._named()
        for word, value in (("null", None), ("true", True), ("false", False)):
            if tokens.accept(word):
                return Literal(value)
        if tokens.accept("case"):
            return self._case()
        if tokens.accept("cast"):
            return self._cast()
        if tokens.accept("exists"):
            tokens.expect("(")
            node: Expression = Exists(self._query())
            tokens.expect(")")
            return node
        if tokens.accept("("):
            node = ScalarQuery(self._query()) if tokens.ahead("select") else self.expression()
            tokens.expect(")")
            return node
        raise tokens.error(f"expected a value, got {tokens.named()}")

    def _literal(self) -> Literal:
        token = self._tokens.take()
        if token.kind == "text":
            return Literal(token.text)
        if token.kind == "integer":
            # more digits than the largest integer has are refused before they are read
            if len(token.text.lstrip("0")) <= 19 and int(token.text) <= LARGEST:
                return Literal(int(token.text))
        elif float(token.text) != float("inf"):
            return Literal(float(token.text))
        raise ParseError("the number is too large", token.line, token.column)

    def _named(self) -> Expression:
        """Read a column or a call."""
        tokens = self._tokens
        name = tokens.name()
        if tokens.accept("."):
            return ColumnRef(name, tokens.name("a column"))
        if not tokens.accept("("):
            return ColumnRef("", name)
        if tokens.accept("*"):
            tokens.expect(")")
            return Call(name, (), star=True)
        if tokens.accept(")"):
            return Call(name, ())
        distinct = tokens.accept("distinct")
        arguments = self.several()
        tokens.expect(")")
        return Call(name, arguments, distinct)

    def _case(self) -> Case:
        tokens = self._tokens
        subject = None if tokens.ahead("when") else self.expression()
        branches = []
        while tokens.accept("when"):
            condition = self.expression()
            tokens.expect("then")
            branches.append((condition, self.expression()))
        if not branches:
            raise tokens.error(f"expected WHEN, got {tokens.named()}")
        otherwise = self.expression() if tokens.accept("else") else None
        tokens.expect("end")
        return Case(subject, tuple(branches), otherwise)

    def _cast(self) -> Cast:
        tokens = self._tokens
        tokens.expect("(")
        operand = self.expression()
        tokens.expect("as")
        return_type = self.type_name()
        tokens.expect(")")
        return Cast(operand, return_type)

    def type_name(self) -> str:
        """Read the name of a type.

        Raises:
            ParseError: There is no such type.
        """
        token = self._tokens.next
        found = type_named(self._tokens.name("a type"))
        if found is None:
            raise ParseError(f"unknown type {token.text!r}", token.line, token.column)
        return found
