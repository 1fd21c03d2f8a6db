"""Tokens one after the other."""

from __future__ import annotations

from pocketsql.errors import ParseError
from pocketsql.syntax.lexer import Token, tokens_of

DEEPEST = 30
"""How deep brackets, subqueries and signs may be nested."""


class TokenStream:
    """Reads tokens.

    Attributes:
        parameters: How many question marks were read.
    """

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._place = 0
        self._depth = 0
        self.parameters = 0

    @property
    def next(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._place]

    def take(self) -> Token:
        """Take the next token."""
        token = self.next
        if token.kind != "end":
            self._place += 1
        return token

    def ahead(self, *words: str) -> bool:
        """Say whether keywords or signs come next."""
        tokens = self._tokens[self._place : self._place + len(words)]
        return len(tokens) == len(words) and all(
            token.kind in ("keyword", "sign") and token.text == word
            for token, word in zip(tokens, words, strict=True)
        )

    def accept(self, *words: str) -> bool:
        """Take keywords or signs if they come next."""
        if not self.ahead(*words):
            return False
        self._place += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Take keywords or signs.

        Raises:
            ParseError: Something else comes.
        """
        for word in words:
            if not self.accept(word):
                raise self.error(f"expected {word.upper()}, got {self.named()}")

    def star_follows(self) -> bool:
        """Say whether ``.*`` comes behind the next token."""
        return [token.text for token in self._tokens[self._place + 1 : self._place + 3]] == [
            ".",
            "*",
        ]

    def accept_word(self, word: str) -> bool:
        """Take a word that is no keyword, such as ``nulls``, if it comes next."""
        if self.next.kind == "name" and self.next.text == word:
            self._place += 1
            return True
        return False

    def name(self, what: str = "a name") -> str:
        """Take a name.

        Raises:
            ParseError: Something else comes.
        """
        if self.next.kind != "name":
            raise self.error(f"expected {what}, got {self.named()}")
        return self.take().text

    def named(self) -> str:
        """Return the next token as messages name it."""
        return "the end" if self.next.kind == "end" else repr(self.next.text)

    def error(self, message: str) -> ParseError:
        """Return an error at the next token."""
        return ParseError(message, self.next.line, self.next.column)

    def enter(self) -> None:
        """Note that something nested begins.

        Raises:
            ParseError: It is nested too deeply.
        """
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.error("nested too deeply")

    def leave(self) -> None:
        """Note that something nested ends."""
        self._depth -= 1
