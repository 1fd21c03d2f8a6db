"""The shapes of vocabulary tables."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.support.text_lines import split_lines


@dataclass(frozen=True)
class Attribute:
    """A property of a product that a shopper may request."""

    name: str
    """The canonical words, as in product texts and in ``attributes``."""
    paraphrases: tuple[str, ...] = ()
    """Other words for it; used in instructions only."""


@dataclass(frozen=True)
class OptionGroup:
    """A choice on the item page, such as the colour."""

    name: str
    """Name of the group in lower case."""
    values: tuple[str, ...]
    """Values; the official reward must not mistake one for another."""
    alike: tuple[tuple[str, ...], ...] = ()
    """Sets of values that are easily confused."""


@dataclass(frozen=True)
class ProductType:
    """A type of product."""

    name: str
    """Plural noun phrase in lower case; also the product's ``query``."""
    aisle: str
    """Second level of the category path; unique to the type, so that two types share one level."""
    groups: tuple[OptionGroup, ...]
    """Options that products of this type may offer."""
    prices: tuple[int, int]
    """Lowest and highest price in dollars."""
    paraphrases: tuple[str, ...] = ()
    """Other words for it; used in instructions only."""


@dataclass(frozen=True)
class Department:
    """A part of the shop with its own types and attributes."""

    category: str
    """One of the official categories: beauty, electronics, fashion, garden, grocery."""
    root: str
    """First level of the category path."""
    types: tuple[ProductType, ...]
    """Product types."""
    visible: tuple[Attribute, ...]
    """Attributes that may be in a title."""
    hidden: tuple[Attribute, ...]
    """Attributes that are only in bullets or in the description."""


@dataclass(frozen=True)
class ShopVocabulary:
    """All words and templates of the texts."""

    name: str
    """Name of the vocabulary."""
    departments: tuple[Department, ...]
    """Departments; types are used in this order."""
    brands: tuple[str, ...] = ()
    """Invented brand names; none are shown if empty."""
    noise: tuple[str, ...] = ()
    """Meaningless words of titles."""
    uses: tuple[str, ...] = ()
    """Meaningless phrases ``for ...``."""


def attributes(table: str) -> tuple[Attribute, ...]:
    """Parse lines ``name: paraphrase | paraphrase`` into attributes."""
    parsed = []
    for line in split_lines(table.strip()):
        name, _, paraphrases = line.strip().partition(":")
        words = tuple(text.strip() for text in paraphrases.split("|") if text.strip())
        parsed.append(Attribute(name.strip(), words))
    return tuple(parsed)


def words(text: str) -> tuple[str, ...]:
    """Split a table of comma-separated entries."""
    return tuple(entry.strip() for entry in text.split(",") if entry.strip())
