"""What is wrong with the entries of a library."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from citepress.errors import BibliographyError
from citepress.model.dates import read_month, read_year
from citepress.model.entries import Entry, Library
from citepress.model.names import read_names
from citepress.model.pages import read_pages

REQUIRED: dict[str, tuple[str, ...]] = {
    "article": ("author", "title", "journal", "year"),
    "book": ("author|editor", "title", "publisher", "year"),
    "inbook": ("author|editor", "title", "chapter|pages", "publisher", "year"),
    "incollection": ("author", "title", "booktitle", "publisher", "year"),
    "inproceedings": ("author", "title", "booktitle", "year"),
    "manual": ("title",),
    "mastersthesis": ("author", "title", "school", "year"),
    "misc": (),
    "phdthesis": ("author", "title", "school", "year"),
    "proceedings": ("title", "year"),
    "techreport": ("author", "title", "institution", "year"),
    "unpublished": ("author", "title", "note"),
}
"""Fields that an entry of each type needs; one of several with a bar between them is enough."""
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+")
_ISBN_SIGNS = re.compile(r"[\s-]")


@dataclass(frozen=True)
class Problem:
    """Something that is wrong.

    Attributes:
        key: The key of the entry.
        line: Its line.
        message: What is wrong.
        severe: Whether the entry cannot be set as it should; else it is only odd.
    """

    key: str
    line: int
    message: str
    severe: bool = True

    def __str__(self) -> str:
        """Return the problem on one line."""
        level = "error" if self.severe else "warning"
        return f"line {self.line}: {level} in {self.key}: {self.message}"


def check(library: Library) -> list[Problem]:
    """Return what is wrong with a library, entry by entry in their order."""
    problems: list[Problem] = []
    for entry in library:
        try:
            full = library.full(entry.key)
        except BibliographyError as error:
            problems.append(Problem(entry.key, entry.line, str(error)))
            full = entry
        problems += _check_entry(full)
    return problems


def _check_entry(entry: Entry) -> list[Problem]:
    problems: list[Problem] = []

    def report(message: str, severe: bool = True) -> None:
        problems.append(Problem(entry.key, entry.line, message, severe))

    if entry.kind not in REQUIRED:
        report(f"unknown type {entry.kind}", severe=False)
    for names in REQUIRED.get(entry.kind, ()):
        if not entry.first(*names.split("|")):
            report(f"{names.replace('|', ' or ')} is missing")
    for name, value in entry.fields.items():
        message = _field_problem(name, value)
        if message:
            report(message, name in ("author", "editor"))
    return problems


def _field_problem(name: str, value: str) -> str:
    """Return what is wrong with a field, or nothing."""
    if not value:
        return f"{name} is empty"
    checker = _CHECKERS.get(name)
    if checker is None:
        return ""
    try:
        return checker(value)
    except BibliographyError as error:
        return f"{name}: {error}"


def _check_year(value: str) -> str:
    known = read_year(value) is not None or value.lower() in ("in press", "forthcoming", "n.d.")
    return "" if known else f"year: expected a year, got {value!r}"


def _check_doi(value: str) -> str:
    return "" if _DOI.fullmatch(value) else f"doi: expected 10.NUMBER/TEXT, got {value!r}"


def _check_isbn(value: str) -> str:
    return "" if is_isbn(value) else f"isbn: the number {value!r} is malformed"


def _check_url(value: str) -> str:
    fits = re.fullmatch(r"(?:https?|ftp)://\S+", value)
    return "" if fits else f"url: expected an address, got {value!r}"


def is_isbn(text: str) -> bool:
    """Say whether a number of a book has ten or thirteen digits and the right last one."""
    digits = _ISBN_SIGNS.sub("", text).upper()
    if re.fullmatch(r"\d{9}[\dX]", digits):
        values = [10 if digit == "X" else int(digit) for digit in digits]
        return sum((10 - n) * value for n, value in enumerate(values)) % 11 == 0
    if re.fullmatch(r"97[89]\d{10}", digits):
        return sum(int(digit) * (3 if n % 2 else 1) for n, digit in enumerate(digits)) % 10 == 0
    return False


def _readable(read: Callable[[str], object]) -> Callable[[str], str]:
    """Return a check that finds nothing wrong with what can be read."""

    def checker(value: str) -> str:
        read(value)
        return ""

    return checker


_CHECKERS: dict[str, Callable[[str], str]] = {
    "author": _readable(read_names),
    "editor": _readable(read_names),
    "year": _check_year,
    "month": _readable(read_month),
    "pages": _readable(read_pages),
    "doi": _check_doi,
    "isbn": _check_isbn,
    "url": _check_url,
}
