"""From a library back to BibTeX."""

from __future__ import annotations

from citepress.model.dates import MONTHS
from citepress.model.entries import Entry, Library

ORDER = ("author", "editor", "title", "booktitle", "journal", "volume", "number", "pages",
         "publisher", "address", "month", "year")  # fmt: skip
"""The fields that come first; the others follow by name."""


def write_library(library: Library, sort: bool = False) -> str:
    """Return BibTeX with one field a line, the fields in a fixed order.

    Args:
        library: The library.
        sort: Whether the entries are sorted by key; an entry to which others refer comes behind
            them in any case, as BibTeX wants it.
    """
    entries = list(library)
    if sort:
        entries.sort(key=lambda entry: entry.key.casefold())
    parents = {entry.get("crossref").casefold() for entry in entries} - {""}
    # an entry may be parent and child: sorting by depth puts every parent behind its children
    entries.sort(key=lambda entry: _height(library, entry) if parents else 0)
    blocks = [_entry(entry) for entry in entries]
    if library.preamble:
        blocks.insert(0, f"@preamble{{{{{library.preamble}}}}}\n")
    return "\n".join(blocks)


def _height(library: Library, entry: Entry) -> int:
    """Return how many generations of children an entry has; 0 where there is a circle."""
    height, level, seen = 0, [entry], {entry.key.casefold()}
    while True:
        keys = {one.key.casefold() for one in level}
        level = [one for one in library if one.get("crossref").casefold() in keys]
        if not level:
            return height
        if any(one.key.casefold() in seen for one in level):
            return 0
        seen.update(one.key.casefold() for one in level)
        height += 1


def _entry(entry: Entry) -> str:
    names = sorted(entry.fields, key=lambda name: (_rank(name), name))
    width = max((len(name) for name in names), default=0)
    lines = [f"  {name:<{width}} = {_value(name, entry.fields[name])}," for name in names]
    return "\n".join([f"@{entry.kind}{{{entry.key},", *lines, "}"]) + "\n"


def _rank(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _value(name: str, text: str) -> str:
    """Return a value: numbers bare, names of months shortened, all else in braces."""
    if text.isascii() and text.isdecimal() and name in ("year", "volume", "number"):
        return text
    if name == "month" and text.lower() in MONTHS:
        return text.lower()[:3]
    return f"{{{text}}}"
