"""The words that generated shops are made of; all invented for this project.

``vocabulary.json`` holds them, an option as ``[name, values, sets of similar values]``, a type of
product as ``[name, aisle, options, prices, paraphrases]``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


def _vocabulary(name: str, table: dict[str, Any]) -> ShopVocabulary:
    """Make a vocabulary of its table; what a department does not say, the vocabulary says."""
    options = {key: OptionGroup(*_frozen(group)) for key, group in table.pop("options").items()}
    shared: dict[str, Any] = {key: table.pop(key) for key in ("visible", "hidden") if key in table}
    departments = tuple(_department({**shared, **part}, options) for part in table["departments"])
    words = {key: tuple(table[key]) for key in ("brands", "noise", "uses") if key in table}
    return ShopVocabulary(name, departments, **words)


def _department(table: dict[str, Any], options: dict[str, OptionGroup]) -> Department:
    """Make a department; without ``hidden`` every attribute may stand in a title or outside."""
    types = tuple(
        ProductType(name, aisle, tuple(options[key] for key in groups), *_frozen(further))
        for name, aisle, groups, *further in table.pop("types")
    )
    visible = _attributes(table.pop("visible"))
    hidden = _attributes(table.pop("hidden")) if "hidden" in table else visible
    return Department(**table, types=types, visible=visible, hidden=hidden)


def _attributes(table: dict[str, list[str]] | list[str]) -> tuple[Attribute, ...]:
    paraphrases = table if isinstance(table, dict) else {name: [] for name in table}
    return tuple(Attribute(name, tuple(words)) for name, words in paraphrases.items())


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


VOCABULARIES = {
    name: _vocabulary(name, table)
    for name, table in json.loads(Path(__file__).with_suffix(".json").read_text("utf-8")).items()
}
"""The vocabularies: ``tiny``, closed, of single words that all types share, for small models; and
``full``, of five departments with brands and noise."""
