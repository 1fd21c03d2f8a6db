"""From tokens to a tree, by recursive descent."""

from __future__ import annotations

from arithtree.tokens import ParseError, Token, tokenize
from arithtree.tree import Binary, Call, Name, Node, Number, Unary

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
SUMS = ("+", "-")
PRODUCTS = ("*", "/", "//", "%")
MAX_DEPTH = 100


def parse(text: str) -> Node:
    """Read an expression.

    Args:
        text: The expression.

    Returns:
        The root of its tree.

    Raises:
        ParseError: The text is not an expression, or it is nested more than 100 deep.
    """
    parser = _Parser(tokenize(text))
    node = parser.comparison()
    token = parser.token
    if token.kind != "end":
        raise ParseError(f"unexpected {token.text!r}", token.position)
    return node


class _Parser:
    """Stands at one token and moves on."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.index]

    def take(self, *texts: str) -> str:
        """Return the next operator and move on if it is one of these, else return nothing."""
        token = self.token
        if token.kind == "operator" and token.text in texts:
            self.index += 1
            return token.text
        return ""

    def expect(self, text: str) -> None:
        """Move on over an operator that has to stand here."""
        if not self.take(text):
            found = repr(self.token.text) if self.token.text else "the end"
            raise ParseError(f"expected {text!r}, found {found}", self.token.position)

    def comparison(self) -> Node:
        """Read a comparison, which has at most one operator."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ParseError("the expression is nested too deep", self.token.position)
        node = self.sum()
        if operator := self.take(*COMPARISONS):
            node = Binary(operator, node, self.sum())
            if self.token.text in COMPARISONS:
                raise ParseError("comparisons do not chain", self.token.position)
        self.depth -= 1
        return node

    def sum(self) -> Node:
        """Read terms, grouped to the left."""
        node = self.product()
        while operator := self.take(*SUMS):
            node = Binary(operator, node, self.product())
        return node

    def product(self) -> Node:
        """Read factors, grouped to the left."""
        node = self.signed()
        while operator := self.take(*PRODUCTS):
            node = Binary(operator, node, self.signed())
        return node

    def signed(self) -> Node:
        """Read any number of signs before a power."""
        negative = False
        while sign := self.take(*SUMS):
            if sign == "-":
                negative = not negative
        node = self.power()
        return Unary("-", node) if negative else node

    def power(self) -> Node:
        """Read a base and its exponent, which may have a sign; powers group to the right."""
        base = self.atom()
        if self.take("^"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise ParseError("the expression is nested too deep", self.token.position)
            base = Binary("^", base, self.signed())
            self.depth -= 1
        return base

    def atom(self) -> Node:
        """Read a number, a variable, a call or something in parentheses."""
        token = self.token
        if token.kind == "number":
            self.index += 1
            return Number(int(token.text) if token.text.isdigit() else float(token.text))
        if token.kind == "name":
            self.index += 1
            if self.take("("):
                return Call(token.text, self.arguments())
            return Name(token.text)
        if self.take("("):
            node = self.comparison()
            self.expect(")")
            return node
        found = repr(token.text) if token.text else "the end"
        raise ParseError(f"expected a value, found {found}", token.position)

    def arguments(self) -> tuple[Node, ...]:
        """Read the arguments of a call and the parenthesis behind them."""
        if self.take(")"):
            return ()
        found = [self.comparison()]
        while self.take(","):
            found.append(self.comparison())
        self.expect(")")
        return tuple(found)
