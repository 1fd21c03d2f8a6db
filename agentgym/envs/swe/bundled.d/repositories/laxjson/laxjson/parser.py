"""From tokens to values."""

from __future__ import annotations

from typing import Any

from laxjson.errors import LaxJSONError
from laxjson.tokens import Token, tokenize

CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "undefined": None}
CONSTANTS.update({"Infinity": float("inf"), "NaN": float("nan")})


def loads(text: str, duplicates: str = "error", max_depth: int = 100) -> Any:
    """Read a text as relaxed JSON.

    Args:
        text: The text; white space and comments may surround the value.
        duplicates: What to do with a key that an object has twice: ``error``, ``first`` or
            ``last`` (keep that value).
        max_depth: How deep arrays and objects may be nested.

    Raises:
        LaxJSONError: The text is no relaxed JSON.
    """
    if duplicates not in ("error", "first", "last"):
        raise ValueError(f"duplicates is error, first or last, not {duplicates!r}")
    return _Parser(text, duplicates, max_depth).document()


class _Parser:
    """Recursive descent with one token of look-ahead."""

    def __init__(self, text: str, duplicates: str, max_depth: int) -> None:
        self.text = text
        self.duplicates = duplicates
        self.max_depth = max_depth
        self.tokens = tokenize(text)
        self.token = next(self.tokens)

    def document(self) -> Any:
        value = self.value(depth=0)
        if self.token.kind != "end":
            raise self.error("expected the end of the text")
        return value

    def advance(self) -> Token:
        """Go to the next token and return the one before."""
        token = self.token
        self.token = next(self.tokens)
        return token

    def value(self, depth: int) -> Any:
        kind = self.token.kind
        if kind in "{[":
            if depth >= self.max_depth:
                raise self.error(f"nested more than {self.max_depth} deep")
            return self.object(depth + 1) if kind == "{" else self.array(depth + 1)
        if kind in ("string", "number"):
            return self.advance().value
        if kind == "word" and self.token.value in CONSTANTS:
            return CONSTANTS[self.advance().value]
        raise self.error("expected a value")

    def array(self, depth: int) -> list[Any]:
        self.advance()
        items: list[Any] = []
        while self.token.kind != "]":
            items.append(self.value(depth))
            self.separator("]")
        self.advance()
        return items

    def object(self, depth: int) -> dict[str, Any]:
        self.advance()
        members: dict[str, Any] = {}
        while self.token.kind != "}":
            token = self.token
            key = self.key()
            if self.token.kind != ":":
                raise self.error("expected ':' after a key")
            self.advance()
            value = self.value(depth)
            if key not in members or self.duplicates == "last":
                members[key] = value
            elif self.duplicates == "error":
                raise LaxJSONError(f"the key {key!r} stands twice", self.text, token.offset)
            self.separator("}")
        self.advance()
        return members

    def key(self) -> str:
        """Read a key: a string, a word, or a whole number."""
        token = self.token
        if token.kind == "number" and not isinstance(token.value, int):
            raise self.error("a key is a string, a word or a whole number")
        if token.kind not in ("string", "word", "number"):
            raise self.error("expected a key")
        return str(self.advance().value)

    def separator(self, closing: str) -> None:
        """Pass over a comma; without one the closing bracket must follow."""
        if self.token.kind == ",":
            self.advance()
        elif self.token.kind != closing:
            raise self.error(f"expected ',' or {closing!r}")

    def error(self, message: str) -> LaxJSONError:
        found = "the end" if self.token.kind == "end" else repr(self.token.value)
        return LaxJSONError(f"{message}, found {found}", self.text, self.token.offset)
