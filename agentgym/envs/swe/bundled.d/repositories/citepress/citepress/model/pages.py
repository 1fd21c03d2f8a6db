"""Pages."""

from __future__ import annotations

import re

from citepress.errors import BibliographyError

_PAGE = re.compile(r"([A-Za-z]*)(\d+|[ivxlcdmIVXLCDM]+)")
_DASH = re.compile(r"\s*(?:-{1,3}|\u2013|\u2014)\s*")


def read_pages(text: str) -> list[tuple[str, str]]:
    """Return the spans of pages of a field, first and last page of each.

    Spans are separated by commas. A last page with fewer digits is completed: ``123--9`` ends on
    129.

    Raises:
        BibliographyError: There is no page where one has to be, or a span ends before it begins.
    """
    spans: list[tuple[str, str]] = []
    for part in text.split(",") if text.strip() else ():
        ends = _DASH.split(part.strip())
        if len(ends) > 2 or not all(_PAGE.fullmatch(page) for page in ends):
            raise BibliographyError(f"expected pages such as 7--9, got {text!r}")
        first, last = ends[0], _completed(ends[0], ends[-1])
        if first.isdecimal() and last.isdecimal() and int(last) < int(first):
            raise BibliographyError(f"the pages {part.strip()!r} end before they begin")
        spans.append((first, last))
    return spans


def _completed(first: str, last: str) -> str:
    """Return a last page with the digits that it has in common with the first one."""
    if first.isdecimal() and last.isdecimal() and len(last) < len(first):
        return first[: len(first) - len(last)] + last
    return last


def pages_text(text: str) -> str:
    """Return pages as they are shown: ``p. 7`` or ``pp. 7-9, 12`` with a dash.

    A text that is no pages is shown as it is.
    """
    try:
        spans = read_pages(text)
    except BibliographyError:
        return text
    if not spans:
        return ""
    shown = ", ".join(first if first == last else f"{first}\u2013{last}" for first, last in spans)
    single = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"{'p.' if single else 'pp.'} {shown}"
