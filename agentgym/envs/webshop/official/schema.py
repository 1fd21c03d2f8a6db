"""Reading the official schema: every field is checked once, and errors name it."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from agentgym.core.outcome import well_formed
from agentgym.errors import DataError


class Origins(NamedTuple):
    """The origin of the data, for error messages."""

    items: str = "items_shuffle.json"
    """Products."""
    instructions: str = "items_ins_v2.json"
    """Attributes and synthetic instructions."""
    human: str = "items_human_ins.json"
    """Instructions written by people."""

    def instruction(self, asin: str) -> str:
        """Name an entry of the instructions."""
        return f"{asin!r} in {self.instructions}"


NAMES = Origins()
"""The official names of the files."""


class CatalogEntry:
    """One object of an official file.

    Lone surrogates, which an observation must not contain, are read as question marks.

    Raises:
        DataError: It is not an object.
    """

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, Mapping):
            _raise_wrong(path, "an object", value)
        self._fields = value
        self._path = path

    def __contains__(self, name: str) -> bool:
        """Return whether there is such a field."""
        return name in self._fields

    def get(self, name: str) -> Any:
        """Return a field unchecked; None if it is absent."""
        return self._fields.get(name)

    def text(self, name: str) -> str:
        """Read a field that must be a string."""
        value = self._fields.get(name)
        return well_formed(value) if isinstance(value, str) else self.wrong(name, "a string")

    def text_or_null(self, name: str) -> str:
        """Read a required field that is a string, or null for the empty string."""
        if name not in self._fields:
            self.wrong(name, "a string or null")
        return "" if self._fields[name] is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Read a field that must be a list of strings."""
        value = self._fields.get(name)
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            self.wrong(name, "a list of strings")
        return tuple(map(well_formed, value))

    def wrong(self, name: str, expected: str) -> NoReturn:
        """Raise DataError for a field."""
        if name not in self._fields:
            raise DataError(_message(f"{name!r} of {self._path}", expected, "no such field"))
        _raise_wrong(f"{name!r} of {self._path}", expected, self._fields[name])


def listed(value: Any, path: str) -> list[Any] | tuple[Any, ...]:
    """Read a list, called ``path`` in error messages.

    Raises:
        DataError: It is not a list.
    """
    return value if isinstance(value, list | tuple) else _raise_wrong(path, "a list", value)


def _raise_wrong(path: str, expected: str, value: Any) -> NoReturn:
    raise DataError(_message(path, expected, reprlib.repr(value)))


def _message(path: str, expected: str, actual: str) -> str:
    return f"expected {path} to be {expected}, got {actual}; compare it with the official file"
