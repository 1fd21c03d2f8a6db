"""Ordinals: ``23rd`` and ``twenty-third``."""

from __future__ import annotations

from wordnumerals.errors import NumeralError
from wordnumerals.words import to_words

_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}


def suffix(number: int) -> str:
    """Return ``st``, ``nd``, ``rd`` or ``th``."""
    number = abs(number)
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def ordinal(number: int) -> str:
    """Write an ordinal with digits."""
    return f"{number}{suffix(number)}"


def parse_ordinal(text: str) -> int:
    """Read an ordinal with digits; NumeralError if its suffix is wrong or missing."""
    body = text.strip().lower()
    digits = body[:-2]
    if not digits.removeprefix("-").isdecimal() or suffix(int(digits)) != body[-2:]:
        raise NumeralError(f"{text!r} is not an ordinal")
    return int(digits)


def words_to_ordinal(number: int) -> str:
    """Write an ordinal in words."""
    text = to_words(number)
    cut = max(text.rfind(" "), text.rfind("-")) + 1
    head, last = text[:cut], text[cut:]
    if last in _IRREGULAR:
        return head + _IRREGULAR[last]
    if last.endswith("y"):
        return head + last[:-1] + "ieth"
    return head + last + "th"
