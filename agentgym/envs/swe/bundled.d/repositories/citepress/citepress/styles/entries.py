"""What an entry of each type looks like, whatever the style of citations."""

from __future__ import annotations

from collections.abc import Callable

from citepress.errors import BibliographyError
from citepress.model.dates import month_name, read_month
from citepress.model.entries import Entry
from citepress.model.names import Name, read_names
from citepress.model.pages import pages_text
from citepress.reading.latex import plain_text
from citepress.styles.persons import listed
from citepress.styles.pieces import Piece, paragraph, sentence, words
from citepress.styles.titles import ordinal, title_text


def persons_of(entry: Entry) -> list[Name]:
    """Return the authors of an entry, or its editors if it has none.

    Raises:
        PersonError: A name is malformed.
    """
    return read_names(entry.first("author", "editor"))


def set_entry(entry: Entry, year: str, year_first: bool) -> list[Piece]:
    """Return an entry as it stands in a bibliography.

    Args:
        entry: The entry, with what it has from its parents.
        year: Its year as it is shown, perhaps with a letter.
        year_first: Whether the year stands behind the authors, in brackets; else at the end.
    """
    body = _BODIES.get(entry.kind, _misc)(entry)
    head = _head(entry)
    shown_year = f"({year})." if year_first else ""
    if year_first:
        head = [*head, *([Piece(" ")] if head else []), Piece(shown_year)]
    elif head and not head[-1].text.endswith("."):
        head = [*head, Piece(".")]
    tail = [] if year_first else sentence(words(_date(entry, year)))
    return paragraph(head, *body, tail, _note(entry), _link(entry))


def _head(entry: Entry) -> list[Piece]:
    """Return the authors, or the editors with what they are."""
    names = persons_of(entry)
    if not names:
        return []
    text = listed(names)
    if not entry.get("author"):
        text += " (eds.)" if len(names) > 1 else " (ed.)"
    return [Piece(text)]


def _date(entry: Entry, year: str) -> str:
    """Return month and year."""
    try:
        month = read_month(entry.get("month"))
    except BibliographyError:
        return f"{plain_text(entry.get('month'))} {year}".strip()
    return f"{month_name(month)} {year}".strip() if month else year


def _article(entry: Entry) -> list[list[Piece]]:
    volume = words(plain_text(entry.get("volume")), "volume")
    if entry.get("number"):
        volume = [*volume, Piece(f"({plain_text(entry.get('number'))})")]
    return [
        sentence(_part(entry)),
        sentence(words(plain_text(entry.get("journal")), "work"), volume, words(_pages(entry))),
    ]


def _book(entry: Entry) -> list[list[Piece]]:
    return [
        sentence(_work(entry, "title"), words(_volume(entry)), words(_edition(entry))),
        sentence(words(_publisher(entry, "publisher"))),
    ]


def _inbook(entry: Entry) -> list[list[Piece]]:
    chapter = entry.get("chapter")
    return [
        sentence(
            _work(entry, "title"),
            words(f"chapter {plain_text(chapter)}" if chapter else ""),
            words(_pages(entry)),
        ),
        sentence(words(_edition(entry)), words(_publisher(entry, "publisher"))),
    ]


def _incollection(entry: Entry) -> list[list[Piece]]:
    """Set a part of a book or of proceedings: ``In`` editors, the book, its pages."""
    host = _work(entry, "booktitle")
    if entry.get("editor") and entry.get("author"):
        names = read_names(entry.get("editor"))
        role = "eds." if len(names) > 1 else "ed."
        host = [Piece(f"{listed(names)} ({role}), "), *host]
    return [
        sentence(_part(entry)),
        sentence([Piece("In "), *host], words(_volume(entry)), words(_pages(entry)))
        if host
        else sentence(words(_pages(entry))),
        sentence(words(_publisher(entry, "publisher", "organization"))),
    ]


def _thesis(kind: str) -> Callable[[Entry], list[list[Piece]]]:
    def body(entry: Entry) -> list[list[Piece]]:
        name = plain_text(entry.get("type")) or kind
        return [
            sentence(_work(entry, "title")),
            sentence(words(name), words(_publisher(entry, "school"))),
        ]

    return body


def _report(entry: Entry) -> list[list[Piece]]:
    name = plain_text(entry.get("type")) or "Technical report"
    number = plain_text(entry.get("number"))
    return [
        sentence(_work(entry, "title")),
        sentence(words(f"{name} {number}".strip()), words(_publisher(entry, "institution"))),
    ]


def _misc(entry: Entry) -> list[list[Piece]]:
    return [
        sentence(_work(entry, "title")),
        sentence(
            words(plain_text(entry.get("howpublished"))),
            words(_publisher(entry, "publisher", "organization", "institution", "school")),
        ),
    ]


def _part(entry: Entry) -> list[Piece]:
    return words(title_text(entry.get("title"), sentence_case=True), "part")


def _work(entry: Entry, name: str) -> list[Piece]:
    return words(title_text(entry.get(name)), "work")


def _pages(entry: Entry) -> str:
    return pages_text(plain_text(entry.get("pages")))


def _edition(entry: Entry) -> str:
    edition = plain_text(entry.get("edition"))
    return f"{ordinal(edition)} edition" if edition else ""


def _volume(entry: Entry) -> str:
    """Return the volume, with the series to which it belongs."""
    volume, series = plain_text(entry.get("volume")), plain_text(entry.get("series"))
    if not volume:
        return series
    return f"volume {volume} of {series}" if series else f"volume {volume}"


def _publisher(entry: Entry, *names: str) -> str:
    """Return who published a work, with the place before it."""
    parts = (plain_text(entry.get("address")), plain_text(entry.first(*names)))
    return ": ".join(part for part in parts if part)


def _note(entry: Entry) -> list[Piece]:
    return sentence(words(plain_text(entry.get("note"))))


def _link(entry: Entry) -> list[Piece]:
    """Return the address of a work: its DOI, or else its URL."""
    doi = entry.get("doi").rpartition("doi.org/")[2]
    address = f"https://doi.org/{doi}" if doi else entry.get("url")
    return words(address.replace("\\", ""), "link")


_BODIES: dict[str, Callable[[Entry], list[list[Piece]]]] = {
    "article": _article,
    "book": _book,
    "proceedings": _book,
    "manual": _book,
    "inbook": _inbook,
    "incollection": _incollection,
    "inproceedings": _incollection,
    "phdthesis": _thesis("PhD thesis"),
    "mastersthesis": _thesis("Master's thesis"),
    "techreport": _report,
}
