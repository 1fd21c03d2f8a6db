"""From BibTeX to a library."""

from __future__ import annotations

import re

from citepress.errors import ReadError
from citepress.model.dates import MONTHS
from citepress.model.entries import Entry, Library
from citepress.reading.scanner import Scanner


def read_library(text: str) -> Library:
    """Read BibTeX.

    What stands between entries is a comment. Keys and names of fields are told apart without
    regard to capitals; keys keep theirs.

    Args:
        text: The file.

    Raises:
        ReadError: It is malformed, a key or a field occurs twice, or a text is used that was not
            defined before.
    """
    return _Reader(text).library()


class _Reader:
    def __init__(self, text: str) -> None:
        self._scanner = Scanner(text)
        self._library = Library()
        self._texts = {name[:3]: name for name in MONTHS}

    def library(self) -> Library:
        scanner = self._scanner
        while True:
            place = scanner.text.find("@", scanner.place)
            if place < 0:
                return self._library
            scanner.place = place + 1
            line = scanner.line
            kind = scanner.name("a type of entry").lower()
            if kind == "comment":
                self._comment()
            elif kind in ("string", "preamble"):
                self._definition(kind)
            else:
                self._entry(kind, line)

    def _comment(self) -> None:
        """Pass over a comment; without braces it ends with its line."""
        if self._scanner.ahead() == "{":
            self._scanner.braced()

    def _open(self) -> str:
        """Take an opening brace or bracket and return what closes it."""
        if self._scanner.accept("("):
            return ")"
        self._scanner.expect("{")
        return "}"

    def _definition(self, kind: str) -> None:
        end = self._open()
        if kind == "preamble":
            self._library.preamble += self._value()
        else:
            name = self._scanner.name("a name").lower()
            self._scanner.expect("=")
            self._texts[name] = self._value()
        self._scanner.expect(end)

    def _entry(self, kind: str, line: int) -> None:
        end = self._open()
        key = self._scanner.name("a key")
        fields: dict[str, str] = {}
        while self._scanner.accept(","):
            if self._scanner.ahead() == end:
                break
            name = self._scanner.name("a field").lower()
            self._scanner.expect("=")
            value = self._value()
            if name in fields:
                raise ReadError(f"entry {key} has two fields {name}", self._scanner.line)
            fields[name] = value
        self._scanner.expect(end)
        if key in self._library:
            raise ReadError(f"there is an entry {key} already", line)
        self._library.add(Entry(kind, key, fields, line))

    def _value(self) -> str:
        """Read pieces with ``#`` between them, and join them."""
        pieces = [self._piece()]
        while self._scanner.accept("#"):
            pieces.append(self._piece())
        return re.sub(r"\s+", " ", "".join(pieces)).strip()

    def _piece(self) -> str:
        character = self._scanner.ahead()
        if character == "{":
            return self._scanner.braced()
        if character == '"':
            return self._scanner.quoted()
        word = self._scanner.name("a value")
        if word.isdecimal():
            return word
        if word.lower() not in self._texts:
            raise self._scanner.error(f"the text {word} is not defined")
        return self._texts[word.lower()]
