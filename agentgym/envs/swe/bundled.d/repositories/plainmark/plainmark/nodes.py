"""The blocks that a text consists of."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Heading:
    """A heading of level 1 to 6."""

    level: int
    text: str


@dataclass
class Paragraph:
    """Lines of running text."""

    text: str


@dataclass
class Code:
    """Lines that are shown as they are."""

    text: str
    language: str = ""


@dataclass
class Rule:
    """A horizontal line."""


@dataclass
class Quote:
    """Blocks that are quoted."""

    blocks: list[Block] = field(default_factory=list)


@dataclass
class Listing:
    """A list; each item consists of blocks."""

    ordered: bool
    start: int = 1
    items: list[list[Block]] = field(default_factory=list)
    loose: bool = False
    """Whether its items stand apart, as paragraphs."""


@dataclass
class Table:
    """A table with a head."""

    head: list[str]
    alignments: list[str]
    """For each column ``left``, ``right``, ``center`` or nothing."""
    rows: list[list[str]] = field(default_factory=list)


Block = Heading | Paragraph | Code | Rule | Quote | Listing | Table
