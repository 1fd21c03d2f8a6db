"""Entries that are probably the same work."""

from __future__ import annotations

from citepress.errors import BibliographyError
from citepress.model.dates import read_year
from citepress.model.entries import Entry, Library
from citepress.model.names import read_names
from citepress.reading.latex import plain_text, sort_text

ALIKE = 0.8
"""How much of their titles two works have in common if they are the same."""


def find_duplicates(library: Library) -> list[list[str]]:
    """Return groups of keys of entries that are probably the same work.

    Two entries are, if they have the same DOI, or if their titles are alike, their first authors
    have the same last name, and their years are at most one apart; what is missing in one does
    not tell them apart. Different DOIs do.
    """
    entries = [library.full(entry.key) for entry in library]
    groups: list[list[Entry]] = []
    for entry in entries:
        matching = [group for group in groups if any(_is_same(entry, other) for other in group)]
        merged = [other for group in matching for other in group]
        groups = [group for group in groups if group not in matching]
        groups.append([*merged, entry])
    order = {entry.key: number for number, entry in enumerate(entries)}
    found = [sorted((one.key for one in group), key=order.__getitem__) for group in groups]
    return sorted((group for group in found if len(group) > 1), key=lambda keys: order[keys[0]])


def _is_same(one: Entry, other: Entry) -> bool:
    first, second = _doi(one), _doi(other)
    if first and second:
        return first == second
    if one.get("title") and other.get("title"):
        if likeness(one.get("title"), other.get("title")) < ALIKE:
            return False
    else:
        return False
    authors = {_first_author(one), _first_author(other)} - {""}
    years = [year for year in (_year(one), _year(other)) if year is not None]
    return len(authors) < 2 and (len(years) < 2 or abs(years[0] - years[1]) <= 1)


def likeness(one: str, other: str) -> float:
    """Return which share of the words of two titles they have in common, from 0 to 1."""
    first, second = (set(sort_text(plain_text(text)).split()) for text in (one, other))
    if not first or not second:
        return 0.0
    return 2 * len(first & second) / (len(first) + len(second))


def _doi(entry: Entry) -> str:
    return entry.get("doi").lower().rpartition("doi.org/")[2]


def _first_author(entry: Entry) -> str:
    try:
        names = read_names(entry.first("author", "editor"))
    except BibliographyError:
        return ""
    return sort_text(names[0].last) if names else ""


def _year(entry: Entry) -> int | None:
    try:
        return read_year(entry.get("year"))
    except BibliographyError:
        return None
