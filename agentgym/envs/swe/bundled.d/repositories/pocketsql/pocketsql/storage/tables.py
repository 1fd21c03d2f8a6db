"""Tables: columns and rows. A table is never changed, a change makes a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pocketsql.errors import SchemaError
from pocketsql.storage.types import Scalar, stored
from pocketsql.syntax.nodes import ColumnDefinition

Row = tuple[Scalar, ...]
"""The values of a row."""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: Its name.
        columns: Its columns.
        rows: Its rows, in the order in which they were inserted.
    """

    name: str
    columns: tuple[ColumnDefinition, ...]
    rows: tuple[Row, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def place(self, column: str) -> int:
        """Return where a column stands.

        Raises:
            SchemaError: There is no such column.
        """
        for number, found in enumerate(self.columns):
            if found.name == column:
                return number
        raise SchemaError(f"table {self.name} has no column {column}")

    def values(self, column: str) -> list[Scalar]:
        """Return the values of a column."""
        place = self.place(column)
        return [row[place] for row in self.rows]

    def with_rows(self, rows: Iterable[Row]) -> Table:
        """Return the table with other rows."""
        return replace(self, rows=tuple(rows))

    def row_of(self, values: Iterable[Scalar]) -> Row:
        """Return values as the columns hold them.

        Raises:
            DataError: A column cannot hold its value.
        """
        return tuple(
            stored(value, column.type, f"{self.name}.{column.name}")
            for value, column in zip(values, self.columns, strict=True)
        )


def table_named(tables: Mapping[str, Table], name: str) -> Table:
    """Return a table.

    Raises:
        SchemaError: There is none of this name.
    """
    if name not in tables:
        raise SchemaError(f"there is no table {name}")
    return tables[name]


def check_definition(table: Table, tables: Mapping[str, Table]) -> None:
    """Refuse a table that cannot be made.

    Raises:
        SchemaError: A column occurs twice, there are two primary keys, or a reference does not
            point to a unique column of the same type.
    """
    labels = table.labels
    for label in labels:
        if labels.count(label) > 1:
            raise SchemaError(f"table {table.name} has two columns {label}")
    if sum(column.primary for column in table.columns) > 1:
        raise SchemaError(f"table {table.name} has two primary keys")
    for column in table.columns:
        if column.reference is None:
            continue
        other = table if column.reference.table == table.name else None
        other = other or table_named(tables, column.reference.table)
        target = other.columns[other.place(column.reference.column)]
        if not target.unique:
            raise SchemaError(f"{other.name}.{target.name} is not unique, nothing can refer to it")
        if target.type != column.type:
            raise SchemaError(
                f"{table.name}.{column.name} is {column.type}, but refers to {target.type}"
            )
        if column.reference.on_delete == "set null" and column.not_null:
            raise SchemaError(f"{table.name}.{column.name} cannot be set to NULL")
