"""Domains of databases: entities with names, numbers and categories, and places.

A question uses one word for an entity. The names of tables and columns differ between databases, so
that a policy has to read the schema. ``domains.json`` holds them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple


class Quantity(NamedTuple):
    """A number that entities have."""

    word: str
    """Its name in questions."""
    names: tuple[str, ...]
    """Possible names of its column: two plain words, then longer names."""


class Category(NamedTuple):
    """A category of entities."""

    word: str
    """Its name in questions."""
    names: tuple[str, ...]
    """Possible names of its column."""
    values: tuple[str, ...]
    """The kinds."""


class TableSubject(NamedTuple):
    """The subject of a table."""

    word: str
    """Singular, in questions."""
    plural: str
    """Plural."""
    tables: tuple[str, ...]
    """Possible names of the table: two plain words, then a longer name."""
    quantities: tuple[Quantity, ...]
    """Its numbers."""
    category: Category
    """Its kind."""

    @property
    def parts(self) -> tuple[Quantity | Category, ...]:
        """Its numbers and its kind."""
        return (*self.quantities, self.category)


class Domain(NamedTuple):
    """Entities and their places."""

    entity: TableSubject
    """The main table."""
    place: TableSubject
    """The table that it references."""


_TABLE = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def _category(row: str | list[Any]) -> Category:
    """Return a category, or the one that places share and name."""
    word, names, values = _TABLE["categories"][row] if isinstance(row, str) else row
    return Category(word, tuple(names), tuple(values))


def _subject(row: list[Any]) -> TableSubject:
    word, plural, tables, numbers, category = row
    quantities = tuple(Quantity(number, tuple(names)) for number, names in numbers)
    return TableSubject(word, plural, tuple(tables), quantities, _category(category))


DOMAINS: tuple[Domain, ...] = tuple(Domain(*map(_subject, pair)) for pair in _TABLE["domains"])
"""All domains."""
BY_WORD: Mapping[str, Domain] = {
    word: domain for domain in DOMAINS for entity in domain for word in (entity.word, entity.plural)
}
"""The domain of an entity, by its words."""
REFERENCES = ("_id", "_ref", "_key")
"""Endings of the column that references a place."""
NAMES: tuple[str, ...] = tuple(_TABLE["names"])
"""Names of entities and places."""
