"""Years and months."""

from __future__ import annotations

import re

from citepress.errors import BibliographyError

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
"""The months, in small letters."""
_YEAR = re.compile(r"(?:c\.|ca\.|about )?\s*(\d{3,4})\??(?:\s*[-\u2013/]{1,2}\s*\d{2,4})?")


def read_year(text: str) -> int | None:
    """Return the year of a field; None if it has none.

    Of a span such as ``1998--99`` it is the first one; ``c. 1500`` and ``1500?`` are understood.
    Other texts, such as ``in press``, have no year.

    Raises:
        BibliographyError: A span ends before it begins.
    """
    match = _YEAR.fullmatch(text.strip())
    if match is None:
        return None
    year = int(match.group(1))
    numbers = re.findall(r"\d+", text)
    if len(numbers) == 2:
        last = numbers[1]
        end = int(str(year)[: max(0, len(str(year)) - len(last))] + last)
        if end < year:
            raise BibliographyError(f"the span of years {text!r} ends before it begins")
    return year


def read_month(text: str) -> int | None:
    """Return the number of a month; None if the text is empty.

    Names may be shortened to three letters or more; a number is understood too.

    Raises:
        BibliographyError: There is no such month.
    """
    word = text.strip().strip(".").lower()
    if not word:
        return None
    if word.isdecimal() and len(word) <= 2 and 1 <= int(word) <= 12:
        return int(word)
    found = [number for number, name in enumerate(MONTHS, 1) if name.startswith(word)]
    if len(word) < 3 or not found:
        raise BibliographyError(f"there is no month {text!r}")
    return found[0]


def month_name(number: int) -> str:
    """Return the name of a month."""
    return MONTHS[number - 1].capitalize()
