"""Titles, excerpts and unique names."""

from __future__ import annotations

import re
from collections.abc import Collection

SMALL_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "as",
        "at",
        "but",
        "by",
        "for",
        "if",
        "in",
        "of",
        "on",
        "or",
        "the",
        "to",
        "via",
        "vs",
    ]
)


def headline(text: str) -> str:
    """Capitalise a title as English ones are.

    Small words such as "of" are capitalised only at the beginning, at the end and after a colon.
    Words that already have a capital inside, such as "iPhone", stay as they are.
    """
    words = text.split()
    result = []
    for place, word in enumerate(words):
        edge = place in (0, len(words) - 1) or words[place - 1].endswith(":")
        if any(char.isupper() for char in word[1:]):
            result.append(word)
        elif word.lower() in SMALL_WORDS and not edge:
            result.append(word.lower())
        else:
            result.append("-".join(_capitalize(part) for part in word.split("-")))
    return " ".join(result)


def _capitalize(word: str) -> str:
    """Make the first letter a capital, even after a quote or bracket."""
    for place, char in enumerate(word):
        if char.isalnum():
            return word[:place] + char.upper() + word[place + 1 :]
    return word


def shorten(text: str, width: int, ending: str = "...") -> str:
    """Shorten a text to a width at the end of a word; blanks are joined.

    Args:
        text: The text.
        width: How many characters the result may have, the ending included.
        ending: Put behind a text that was shortened, without the punctuation before it.
    """
    if width < len(ending):
        raise ValueError(f"width is at least {len(ending)}, got {width}")
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    room = width - len(ending)
    cut = text[:room]
    if text[room] != " ":
        head, blank, _ = cut.rpartition(" ")
        cut = head if blank else cut
    return cut.rstrip(" ,;:.!?-") + ending


def unique_name(name: str, taken: Collection[str], separator: str = "-") -> str:
    """Make a name that is not taken by counting up a number at its end.

    A number that the name already has behind the separator is counted up.
    """
    if name not in taken:
        return name
    match = re.fullmatch(rf"(.+){re.escape(separator)}(\d+)", name)
    base, number = (match[1], int(match[2])) if match else (name, 1)
    while True:
        number += 1
        candidate = f"{base}{separator}{number}"
        if candidate not in taken:
            return candidate
