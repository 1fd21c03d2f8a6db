"""Citations in a text, and the bibliography behind it."""

from __future__ import annotations

from collections.abc import Sequence

from citepress.errors import CitationError
from citepress.model.entries import Entry, Library
from citepress.styles.entries import set_entry
from citepress.styles.sorting import (
    alpha_labels,
    short_persons,
    sort_key,
    year_text,
    years_with_letters,
)
from citepress.writing.forms import Item, render

STYLES = ("alpha", "author-year", "numeric")
"""The styles."""


class Citations:
    """Cites from a library.

    Which letters stand behind years and labels depends on all entries that are cited: in the
    styles with letters, cite everything before you print (:meth:`use`).

    Args:
        library: The library.
        style: One of :data:`STYLES`.

    Raises:
        CitationError: There is no such style.
    """

    def __init__(self, library: Library, style: str = "numeric") -> None:
        if style not in STYLES:
            raise CitationError(f"expected one of {', '.join(STYLES)}, got {style!r}")
        self._library = library
        self._style = style
        self._used: dict[str, Entry] = {}

    @property
    def used(self) -> list[str]:
        """The keys of what was cited, in the order of the first citation."""
        return list(self._used)

    def use(self, *keys: str) -> None:
        """Take entries into the bibliography without citing them; ``*`` means all.

        Raises:
            CitationError: There is no such entry.
        """
        for key in keys:
            for one in self._library.keys() if key == "*" else [key]:
                if one not in self._library:
                    raise CitationError(f"there is no entry {one} to cite")
                entry = self._library.full(one)
                self._used.setdefault(entry.key, entry)

    def cite(self, *keys: str, pages: str = "") -> str:
        """Return a citation.

        Args:
            *keys: What is cited.
            pages: Where in it; only for a single entry.

        Raises:
            CitationError: There is no such entry, nothing is cited, or there are pages of
                several entries.
        """
        if not keys:
            raise CitationError("expected the key of an entry")
        if pages and len(keys) > 1:
            raise CitationError("pages can be given for a single entry only")
        self.use(*keys)
        cited = [self._library[key].key for key in dict.fromkeys(keys)]
        where = f", {pages}" if pages else ""
        if self._style == "author-year":
            years = years_with_letters(self._sorted())
            return f"({_author_years([self._used[key] for key in cited], years)}{where})"
        if self._style == "alpha":
            labels = alpha_labels(self._sorted())
            return f"[{', '.join(labels[key] for key in cited)}{where}]"
        numbers = sorted({self.used.index(key) + 1 for key in cited})
        return f"[{spans(numbers)}{where}]"

    def cite_in_text(self, key: str) -> str:
        """Return a citation that is part of a sentence: ``Knuth (1997)`` or ``Knuth [1]``.

        Raises:
            CitationError: There is no such entry.
        """
        citation = self.cite(key)
        entry = self._used[self._library[key].key]
        if self._style == "author-year":
            citation = f"({years_with_letters(self._sorted())[entry.key]})"
        return f"{short_persons(entry)} {citation}"

    def bibliography(self, form: str = "text") -> str:
        """Return what was cited, set in the style.

        Args:
            form: ``text``, ``html`` or ``markdown``.

        Raises:
            CitationError: There is no such form.
            PersonError: A name is malformed.
        """
        if self._style == "numeric":
            entries = list(self._used.values())
            labels = {entry.key: f"[{n}]" for n, entry in enumerate(entries, 1)}
            years = {entry.key: year_text(entry) for entry in entries}
        else:
            entries = self._sorted()
            years = years_with_letters(entries)
            labels = {}
            if self._style == "alpha":
                labels = {key: f"[{label}]" for key, label in alpha_labels(entries).items()}
                years = {entry.key: year_text(entry) for entry in entries}
        first = self._style == "author-year"
        items: list[Item] = [
            (entry.key, labels.get(entry.key, ""), set_entry(entry, years[entry.key], first))
            for entry in entries
        ]
        return render(items, form)

    def _sorted(self) -> list[Entry]:
        return sorted(self._used.values(), key=sort_key)


def _author_years(entries: Sequence[Entry], years: dict[str, str]) -> str:
    """Return authors and years; equal authors that follow each other are named once."""
    parts: list[str] = []
    last = ""
    for entry in entries:
        persons = short_persons(entry)
        if parts and persons == last:
            parts[-1] += f", {years[entry.key]}"
        else:
            parts.append(f"{persons}, {years[entry.key]}")
        last = persons
    return "; ".join(parts)


def spans(numbers: Sequence[int]) -> str:
    """Return numbers in rising order, three or more in a row drawn together: ``1-3, 5``."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    texts: list[str] = []
    for group in groups:
        if len(group) > 2:
            texts.append(f"{group[0]}-{group[-1]}")
        else:
            texts += map(str, group)
    return ", ".join(texts)
