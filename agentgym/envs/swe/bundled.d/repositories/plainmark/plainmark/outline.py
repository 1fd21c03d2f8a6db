"""Anchors of headings and the table of contents."""

from __future__ import annotations

import re
from typing import NamedTuple

from plainmark.blocks import parse
from plainmark.nodes import Heading


class Entry(NamedTuple):
    """One line of the table of contents."""

    level: int
    text: str
    anchor: str


def slug(text: str) -> str:
    """Make an anchor of a heading: small letters, digits and single dashes."""
    text = re.sub(r"\]\([^)]*\)", "", text.lower())
    text = re.sub(r"[^\w\s-]", "", text)
    return re.sub(r"[\s_-]+", "-", text).strip("-") or "section"


class Anchors:
    """Gives out anchors, each only once: ``notes``, ``notes-2``, ``notes-3``."""

    def __init__(self) -> None:
        self.given: set[str] = set()

    def add(self, text: str) -> str:
        """Give out an anchor for a heading."""
        base = anchor = slug(text)
        number = 1
        while anchor in self.given:
            number += 1
            anchor = f"{base}-{number}"
        self.given.add(anchor)
        return anchor


def table_of_contents(text: str, deepest: int = 6) -> list[Entry]:
    """List the headings of a text that are not within quotes or lists.

    Args:
        text: The Markdown.
        deepest: The last level that is listed; anchors count the others, too.
    """
    anchors = Anchors()
    entries = []
    for block in parse(text):
        if isinstance(block, Heading):
            anchor = anchors.add(block.text)
            if block.level <= deepest:
                entries.append(Entry(block.level, block.text, anchor))
    return entries
