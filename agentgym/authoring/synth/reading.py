"""Typed reading of a YAML file: every complaint names the key, what was expected and what came.

Not read with `agentgym.support.typed_json`, tried and measured: many entries may be a list or one
of its elements, and bounds depend on other entries, so that 37 lines of code came on top, and the
first ``gym.make`` of a specification took .20 s of CPU time instead of .175.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agentgym.errors import DataError
from agentgym.support.guesses import with_guesses
from agentgym.support.structured_files import parse_structured, parse_yaml, read_text

LONGEST = 2000
"""Most characters of a text in it."""
IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,39}")
Read = TypeVar("Read")


def load(file: Path) -> Section:
    """Read a file whose top is a mapping.

    Raises:
        DataError: It is missing, too long or no such YAML.
    """
    subject = "a specification in YAML"
    parse = partial(parse_yaml, references=False)
    data = parse_structured(read_text(file, subject), f"{subject} at {file}", parse)
    return Section(data, str(file), "")


class Section:
    """A mapping of a file, whose entries are taken one by one.

    Args:
        data: What stands there.
        file: The file, for messages.
        place: The keys that lead there, with dots between them.

    Raises:
        DataError: It is no mapping with texts as keys.
    """

    def __init__(self, data: Any, file: str, place: str) -> None:
        self.file, self.place = file, place
        if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
            self._data: Mapping[str, Any] = {}
            raise self.wrong("", "a mapping of names", data)
        self._data = data
        self._used_keys: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Whether there is an entry."""
        return key in self._data

    def names(self) -> tuple[str, ...]:
        """Return the names of all entries."""
        return tuple(self._data)

    def wrong(self, key: str, expected: str, actual: Any) -> DataError:
        """Return the error of an entry."""
        place = ".".join(filter(None, (self.place, key))) or "the top"
        hint = ""
        if isinstance(actual, bool):
            hint = (
                "; YAML reads yes, no, on and off as truth values: quote them where words are meant"
            )
        return DataError(
            f"expected {place} of {self.file} to be {expected}, got {actual!r:.120}{hint}"
        )

    def raw(self, key: str, default: Any = None) -> Any:
        """Take an entry as it is."""
        self._used_keys.add(key)
        return self._data.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """Take a text; without a default it must be there."""
        return self._text(key, self.raw(key, default))

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Take a list of texts, or one text."""
        texts = self.raw(key, default)
        if isinstance(texts, str):
            texts = [texts]
        if not isinstance(texts, list | tuple):
            raise self.wrong(key, "a text or a list of texts", texts)
        return tuple(self._text(f"{key}[{n}]", text) for n, text in enumerate(texts))

    def flag(self, key: str) -> bool:
        """Take a truth value, False where it is left out."""
        flag = self.raw(key, False)
        if not isinstance(flag, bool):
            raise self.wrong(key, "true or false", flag)
        return flag

    def number(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Take a whole number within bounds."""
        number = self.raw(key, default)
        if type(number) is not int or not low <= number <= high:
            raise self.wrong(key, f"a whole number from {low} to {high}", number)
        return number

    def span(self, key: str, low: int, high: int, default: tuple[int, int]) -> tuple[int, int]:
        """Take a number, or a range as two numbers, within bounds."""
        span = self.raw(key, list(default))
        pair = span if isinstance(span, list) else [span, span]
        numbers = len(pair) == 2 and all(type(bound) is int for bound in pair)
        if not numbers or not low <= pair[0] <= pair[1] <= high:
            raise self.wrong(key, f"a number, or [least, most], from {low} to {high}", span)
        return pair[0], pair[1]

    def section(self, key: str) -> Section:
        """Take a mapping, empty where it is left out."""
        return Section(self.raw(key, {}), self.file, ".".join(filter(None, (self.place, key))))

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Take all entries of a mapping of names to mappings."""
        for key in self._data:
            if not IDENTIFIER.fullmatch(key):
                raise self.wrong("", "names of lower-case letters, digits and _", key)
            yield key, self.section(key)

    def items(
        self, key: str, read_entry: Callable[[Section], Read], short: str
    ) -> tuple[Read, ...]:
        """Take a list of mappings, or one; a text is a mapping of which only `short` is given."""
        entries = self.raw(key, [])
        if isinstance(entries, str | Mapping):
            entries = [entries]
        if not isinstance(entries, list):
            raise self.wrong(key, "a list", entries)
        place = ".".join(filter(None, (self.place, key)))
        return tuple(
            read_entry(
                Section(
                    {short: entry} if isinstance(entry, str) else entry, self.file, f"{place}[{n}]"
                )
            )
            for n, entry in enumerate(entries)
        )

    def end(self) -> None:
        """Refuse what nothing has taken.

        Raises:
            DataError: A key is unknown.
        """
        unknown = [key for key in self._data if key not in self._used_keys]
        if unknown:
            keys = sorted(self._used_keys)
            raise DataError(
                f"expected {self.place or 'the top'} of {self.file} to be made of the keys "
                f"{', '.join(keys)}, got {with_guesses(unknown, keys)}"
            )

    def _text(self, key: str, text: Any) -> str:
        if not isinstance(text, str) or len(text) > LONGEST or not text.strip():
            raise self.wrong(key, f"a text of 1 to {LONGEST} characters", text)
        return text.strip()
