"""What tables promise: values that are there, differ, and point to something."""

from __future__ import annotations

from collections.abc import Mapping

from pocketsql.errors import ConstraintError
from pocketsql.storage.tables import Row, Table, table_named
from pocketsql.storage.types import Scalar
from pocketsql.syntax.nodes import ColumnDefinition
from pocketsql.syntax.writer import literal_text


def check_columns(table: Table) -> None:
    """Refuse a table with a NULL or a repeated value where there must be none.

    Raises:
        ConstraintError: There is one.
    """
    for number, column in enumerate(table.columns):
        name = f"{table.name}.{column.name}"
        seen: set[Scalar] = set()
        for row in table.rows:
            value = row[number]
            if value is None:
                if column.not_null:
                    raise ConstraintError(f"{name} must not be NULL")
                continue
            if column.unique and value in seen:
                raise ConstraintError(f"{name} must be unique, {literal_text(value)} is repeated")
            seen.add(value)


def check_references(tables: Mapping[str, Table]) -> None:
    """Refuse tables in which a column points to nothing.

    Raises:
        ConstraintError: There is such a column.
    """
    for table in tables.values():
        for column in table.columns:
            if column.reference is None:
                continue
            target = table_named(tables, column.reference.table)
            known = set(target.values(column.reference.column))
            for value in table.values(column.name):
                if value is not None and value not in known:
                    raise ConstraintError(
                        f"{table.name}.{column.name} is {literal_text(value)}, which is not in "
                        f"{target.name}.{column.reference.column}"
                    )


def follow_deletion(tables: Mapping[str, Table], name: str, gone: list[Row]) -> dict[str, Table]:
    """Return tables after rows were taken out of one of them.

    Rows that pointed to them are taken out too (``CASCADE``), or point to nothing from then on
    (``SET NULL``). What is left is checked by :func:`check_references`.

    Args:
        tables: The tables; the rows are gone already.
        name: The table that lost rows.
        gone: These rows.
    """
    found = dict(tables)
    waiting = [(name, gone)]
    while waiting:
        source, rows = waiting.pop(0)
        for table in list(found.values()):
            for column in table.columns:
                if column.reference is None or column.reference.table != source:
                    continue
                place = found[source].place(column.reference.column)
                lost = {row[place] for row in rows} - {None}
                kept, taken = _followed(found[table.name], column, lost)
                found[table.name] = found[table.name].with_rows(kept)
                if taken:
                    waiting.append((table.name, taken))
    return found


def _followed(
    table: Table, column: ColumnDefinition, lost: set[Scalar]
) -> tuple[list[Row], list[Row]]:
    """Return the rows of a table that stay, changed if need be, and those that go."""
    assert column.reference is not None
    place = table.place(column.name)
    kept: list[Row] = []
    taken: list[Row] = []
    for row in table.rows:
        if row[place] not in lost or column.reference.on_delete == "restrict":
            kept.append(row)
        elif column.reference.on_delete == "cascade":
            taken.append(row)
        else:
            kept.append((*row[:place], None, *row[place + 1 :]))
    return kept, taken


def users_of(tables: Mapping[str, Table], name: str) -> list[str]:
    """Return the other tables that refer to a table, sorted."""
    return sorted(
        table.name
        for table in tables.values()
        if table.name != name
        and any(column.reference and column.reference.table == name for column in table.columns)
    )
