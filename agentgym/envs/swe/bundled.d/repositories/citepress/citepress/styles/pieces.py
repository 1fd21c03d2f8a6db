"""Pieces of a set entry: texts with a role, which each form of output marks in its own way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """A piece of text.

    Attributes:
        text: The text.
        role: ``plain``, ``work`` (a title that stands in italics), ``part`` (a title in quotes),
            ``volume`` or ``link``.
    """

    text: str
    role: str = "plain"


def sentence(*groups: list[Piece]) -> list[Piece]:
    """Return groups with commas between them and a full stop at the end; empty ones are left out.

    A group that ends in a mark already gets none.
    """
    filled = [group for group in groups if any(piece.text for piece in group)]
    found: list[Piece] = []
    for number, group in enumerate(filled):
        if number:
            found.append(Piece(", "))
        found += [piece for piece in group if piece.text]
    if found and not found[-1].text.endswith((".", "?", "!")):
        found.append(Piece("."))
    return found


def paragraph(*sentences: list[Piece]) -> list[Piece]:
    """Return sentences with spaces between them; empty ones are left out."""
    found: list[Piece] = []
    for pieces in sentences:
        if pieces:
            found += [*([Piece(" ")] if found else []), *pieces]
    return found


def words(text: str, role: str = "plain") -> list[Piece]:
    """Return a text as a group of one piece, or of none if it is empty."""
    return [Piece(text, role)] if text else []
