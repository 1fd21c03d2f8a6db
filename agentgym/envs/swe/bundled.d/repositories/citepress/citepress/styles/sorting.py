"""The order of a bibliography, letters behind years, and labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from citepress.errors import BibliographyError
from citepress.model.dates import read_year
from citepress.model.entries import Entry
from citepress.reading.latex import plain_text, sort_text
from citepress.styles.entries import persons_of
from citepress.styles.persons import cited, without_others

UNDATED = "n.d."
"""What stands where a year is missing."""
_ARTICLES = ("a ", "an ", "the ")


def sort_key(entry: Entry) -> tuple[object, ...]:
    """Return by what entries are sorted: authors, year, title.

    Entries without authors stand under their title. The year is the number in it; an entry
    without one comes last among those of its authors.
    """
    title = title_key(entry)
    names, more = without_others(persons_of(entry))
    persons = [name.sort_key for name in names] or [(title, "", "", "")]
    year = _year(entry)
    return persons, more, year is None, year or 0, title, entry.key


def title_key(entry: Entry) -> str:
    """Return a title as it is sorted: without an article at its beginning."""
    text = sort_text(plain_text(entry.first("title", "booktitle")))
    return next((text[len(one) :] for one in _ARTICLES if text.startswith(one)), text)


def _year(entry: Entry) -> int | None:
    try:
        return read_year(plain_text(entry.get("year")))
    except BibliographyError:
        return None


def year_text(entry: Entry) -> str:
    """Return the year of an entry as it is shown."""
    return plain_text(entry.get("year")) or UNDATED


def short_persons(entry: Entry) -> str:
    """Return by whom an entry is cited: authors, or the title if there are none."""
    names = persons_of(entry)
    return cited(names) if names else plain_text(entry.first("title", "key")) or entry.key


def years_with_letters(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the years of entries by key, told apart by letters where that is needed.

    Entries that are cited by the same persons and year get ``a``, ``b`` and so on, in their
    order; behind ``n.d.`` and words a hyphen comes first.
    """
    counts = Counter((short_persons(entry), year_text(entry)) for entry in entries)
    used: Counter[tuple[str, str]] = Counter()
    years: dict[str, str] = {}
    for entry in entries:
        name = short_persons(entry), year_text(entry)
        year = name[1]
        if counts[name] > 1:
            gap = "" if year[-1].isdigit() else "-"
            year = f"{year}{gap}{letters(used[name])}"
            used[name] += 1
        years[entry.key] = year
    return years


def letters(number: int) -> str:
    """Return ``a`` for 0, ``z`` for 25, ``aa`` for 26."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def alpha_labels(entries: Sequence[Entry]) -> dict[str, str]:
    """Return labels such as ``Knu97`` by key, told apart by letters where that is needed."""
    plain = {entry.key: _initials(entry) + _short_year(entry) for entry in entries}
    counts = Counter(plain.values())
    used: Counter[str] = Counter()
    labels: dict[str, str] = {}
    for key, label in plain.items():
        labels[key] = label
        if counts[label] > 1:
            labels[key] = label + letters(used[label])
            used[label] += 1
    return labels


def _initials(entry: Entry) -> str:
    """Return three letters of one author, or one letter of each of several.

    Of more than four there are three letters and a plus sign; a von part counts too.
    """
    names, more = without_others(persons_of(entry))
    if not names:
        return (sort_text(plain_text(entry.first("key", "title"))) or entry.key)[:3].title()
    if len(names) == 1 and not more:
        von = "".join(word[0] for word in names[0].von.split())
        return von + names[0].last[: 3 - min(len(von), 2)]
    shown = names if len(names) <= 4 else names[:3]
    text = "".join((name.von[:1] + name.last[:1]) for name in shown)
    return text + "+" * (more or len(names) > 4)


def _short_year(entry: Entry) -> str:
    """Return the last two digits of a year."""
    year = _year(entry)
    return "" if year is None else f"{year % 100:02d}"
