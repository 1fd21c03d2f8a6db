"""Entries, and the library that holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from citepress.errors import BibliographyError

INHERITED = {
    ("incollection", "book"): {"title": "booktitle"},
    ("inproceedings", "proceedings"): {"title": "booktitle"},
    ("inbook", "book"): {"title": "booktitle"},
}
"""Fields that have another name in the entry than in its parent, by the types of both."""
NOT_INHERITED = frozenset(("crossref", "key", "note", "abstract", "title", "doi"))
"""Fields that are never taken from a parent under their own name."""


@dataclass(frozen=True)
class Entry:
    """A work.

    Attributes:
        kind: Its type, such as ``article``.
        key: By what it is cited.
        fields: Its fields as they were written, with LaTeX in them.
        line: Where it stood in its file; 0 if in none.
    """

    kind: str
    key: str
    fields: dict[str, str] = field(default_factory=dict)
    line: int = 0

    def get(self, name: str) -> str:
        """Return a field, empty if it is missing."""
        return self.fields.get(name, "")

    def first(self, *names: str) -> str:
        """Return the first of some fields that is not empty."""
        return next((self.fields[name] for name in names if self.fields.get(name)), "")


class Library:
    """Entries in the order in which they were added; keys are found in any case.

    Attributes:
        preamble: LaTeX that stood before the entries.
    """

    def __init__(self) -> None:
        self.preamble = ""
        self._entries: dict[str, Entry] = {}

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries as they were written."""
        yield from self._entries.values()

    def __contains__(self, key: object) -> bool:
        """Say whether there is an entry of this key."""
        return isinstance(key, str) and key.casefold() in self._entries

    def __getitem__(self, key: str) -> Entry:
        """Return an entry as it was written.

        Raises:
            BibliographyError: There is none of this key.
        """
        if key not in self:
            raise BibliographyError(f"there is no entry {key}")
        return self._entries[key.casefold()]

    def add(self, entry: Entry) -> None:
        """Add an entry.

        Raises:
            BibliographyError: Its key is taken.
        """
        if entry.key in self:
            raise BibliographyError(f"there is an entry {entry.key} already")
        self._entries[entry.key.casefold()] = entry

    def keys(self) -> list[str]:
        """Return the keys of all entries."""
        return [entry.key for entry in self]

    def full(self, key: str) -> Entry:
        """Return an entry with the fields that it takes from its parents.

        What the entry itself has comes first, then what its parent has, then the parent's parent.

        Raises:
            BibliographyError: There is no such entry, no such parent, or a circle of parents.
        """
        entry = self[key]
        fields = dict(entry.fields)
        seen = [entry.key]
        child = entry
        while child.get("crossref"):
            if child.get("crossref") not in self:
                raise BibliographyError(f"entry {child.key} has no parent {child.get('crossref')}")
            parent = self[child.get("crossref")]
            if parent.key in seen:
                raise BibliographyError(f"circle of parents: {' -> '.join([*seen, parent.key])}")
            seen.append(parent.key)
            for name, value in _given(entry, parent).items():
                fields.setdefault(name, value)
            child = parent
        return Entry(entry.kind, entry.key, fields, entry.line)


def _given(entry: Entry, parent: Entry) -> dict[str, str]:
    """Return the fields that a parent gives to an entry, under the names they have there."""
    names = INHERITED.get((entry.kind, parent.kind), {})
    given = {names[name]: value for name, value in parent.fields.items() if name in names}
    for name, value in parent.fields.items():
        if name not in NOT_INHERITED and name not in names:
            given.setdefault(name, value)
    return given
