"""Names: which column of which source an expression means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pocketsql.errors import SchemaError
from pocketsql.storage.tables import Row
from pocketsql.storage.types import Scalar
from pocketsql.syntax.nodes import ColumnRef


class Header:
    """The columns of rows that come from several sources.

    Args:
        columns: Source and name of each column.
    """

    def __init__(self, columns: Sequence[tuple[str, str]] = ()) -> None:
        self.columns = tuple(columns)
        self._places: dict[str, list[int]] = {}
        for place, (source, name) in enumerate(self.columns):
            self._places.setdefault(name, []).append(place)
            self._places.setdefault(f"{source}\0{name}", []).append(place)

    def __add__(self, other: Header) -> Header:
        """Return the columns of two headers side by side."""
        return Header((*self.columns, *other.columns))

    @property
    def sources(self) -> list[str]:
        """The names of the sources."""
        return list(dict.fromkeys(source for source, _ in self.columns))

    def find(self, column: ColumnRef) -> int | None:
        """Return where a column stands, or None.

        Raises:
            SchemaError: Several sources have such a column.
        """
        key = f"{column.table}\0{column.name}" if column.table else column.name
        places = self._places.get(key, [])
        if len(places) > 1:
            raise SchemaError(f"column {column.name} is ambiguous")
        return places[0] if places else None

    def of(self, source: str) -> list[int]:
        """Return where the columns of a source stand.

        Raises:
            SchemaError: There is no such source.
        """
        places = [place for place, (name, _) in enumerate(self.columns) if name == source]
        if not places:
            raise SchemaError(f"there is no table {source} in FROM")
        return places


@dataclass(frozen=True)
class Scope:
    """What an expression sees.

    Attributes:
        header: The columns.
        row: Their values.
        outer: What the query around it sees.
        group: The rows of the group, where rows are grouped.
    """

    header: Header
    row: Row = ()
    outer: Scope | None = None
    group: Sequence[Row] | None = None

    def value(self, column: ColumnRef) -> Scalar:
        """Return the value of a column; what the row does not have may the outer row.

        Raises:
            SchemaError: There is no such column, or several.
        """
        scope: Scope | None = self
        while scope is not None:
            place = scope.header.find(column)
            if place is not None:
                return scope.row[place]
            scope = scope.outer
        name = f"{column.table}.{column.name}" if column.table else column.name
        raise SchemaError(f"there is no column {name}")

    def at(self, row: Row) -> Scope:
        """Return the scope at another row, outside of groups."""
        return Scope(self.header, row, self.outer)
