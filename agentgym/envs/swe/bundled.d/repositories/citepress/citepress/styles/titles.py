"""Titles."""

from __future__ import annotations

import re

from citepress.reading.latex import plain_text


def title_text(field: str, sentence_case: bool = False) -> str:
    """Return a title as it is shown.

    Args:
        field: The field.
        sentence_case: Whether all letters but the first one become small; what stands in braces
            keeps its letters, and so does the first letter behind a colon.
    """
    if not sentence_case:
        return plain_text(field)
    pieces = []
    start = True
    for text, protected in _groups(field):
        if protected:
            pieces.append(text)
            start = False
            continue
        lowered = ""
        for part in re.split(r"(:\s+)", text):
            if re.fullmatch(r":\s+", part):
                lowered += part
                start = True
            elif part:
                lowered += (part[0] if start else part[0].lower()) + _lowered(part[1:])
                start = False
        pieces.append(lowered)
    return plain_text("".join(pieces))


def _lowered(text: str) -> str:
    """Return a text in small letters, but with commands of LaTeX as they are."""
    return "".join(
        part if part.startswith("\\") else part.lower() for part in re.split(r"(\\[A-Za-z]+)", text)
    )


def _groups(field: str) -> list[tuple[str, bool]]:
    """Return the parts of a field inside and outside of braces, in order."""
    groups: list[tuple[str, bool]] = []
    depth, start = 0, 0
    for place, character in enumerate(field):
        if character == "{" and field[place - 1 : place] != "\\":
            if depth == 0:
                groups.append((field[start:place], False))
                start = place
            depth += 1
        elif character == "}" and field[place - 1 : place] != "\\" and depth:
            depth -= 1
            if depth == 0:
                groups.append((field[start : place + 1], True))
                start = place + 1
    groups.append((field[start:], False))
    return [group for group in groups if group[0]]


def ordinal(text: str) -> str:
    """Return the edition of a book: a number becomes an ordinal, words stay as they are."""
    if not text.isdecimal():
        return text.lower()
    number = int(text)
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
