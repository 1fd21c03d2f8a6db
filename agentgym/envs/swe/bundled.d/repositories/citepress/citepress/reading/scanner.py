"""A text that is read from left to right, with the number of the line."""

from __future__ import annotations

import re

from citepress.errors import ReadError

NAME = re.compile(r"[^\s\"#%'(),={}]+")
"""A key, a type of entry or a name of a field."""
_SPACE = re.compile(r"\s*")


class Scanner:
    """Reads a text.

    Attributes:
        text: The text.
        place: How much of it was read.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    @property
    def line(self) -> int:
        """The line at which the reader stands."""
        return self.text.count("\n", 0, self.place) + 1

    def error(self, message: str) -> ReadError:
        """Return an error at this place."""
        return ReadError(message, self.line)

    def skip(self) -> None:
        """Pass over white space."""
        match = _SPACE.match(self.text, self.place)
        assert match is not None
        self.place = match.end()

    def ahead(self) -> str:
        """Return the next character behind white space, empty at the end."""
        self.skip()
        return self.text[self.place : self.place + 1]

    def accept(self, character: str) -> bool:
        """Take a character if it comes next."""
        if self.ahead() != character:
            return False
        self.place += 1
        return True

    def expect(self, character: str) -> None:
        """Take a character.

        Raises:
            ReadError: Something else comes.
        """
        if not self.accept(character):
            raise self.error(f"expected {character!r}, got {self.ahead() or 'the end'!r}")

    def name(self, what: str) -> str:
        """Take a name.

        Raises:
            ReadError: Something else comes.
        """
        self.skip()
        match = NAME.match(self.text, self.place)
        if match is None:
            raise self.error(f"expected {what}, got {self.ahead() or 'the end'!r}")
        self.place = match.end()
        return match.group()

    def braced(self) -> str:
        """Take what stands in braces, without the outer ones.

        Raises:
            ReadError: They are not closed.
        """
        self.expect("{")
        return self._until("}", "the brace")

    def quoted(self) -> str:
        """Take what stands in double quotes; quotes inside of braces do not count.

        Raises:
            ReadError: They are not closed, or there is a closing brace too many.
        """
        self.expect('"')
        return self._until('"', "the quote")

    def _until(self, end: str, what: str) -> str:
        start, depth, place = self.place, 0, self.place
        while place < len(self.text):
            character = self.text[place]
            if character == "\\" and self.text[place + 1 : place + 2] in ("{", "}", "\\"):
                place += 2
                continue
            if depth == 0 and character == end:
                self.place = place + 1
                return self.text[start:place]
            depth += (character == "{") - (character == "}")
            if depth < 0:
                raise self.error("there is a closing brace too many")
            place += 1
        raise self.error(f"{what} is not closed")
