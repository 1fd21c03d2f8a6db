"""Statements that change tables. They return new tables and leave the old ones alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pocketsql.engine.aggregates import has_aggregate
from pocketsql.engine.queries import QueryEngine
from pocketsql.engine.scope import Header, Scope
from pocketsql.errors import ConstraintError, SchemaError
from pocketsql.storage.constraints import (
    check_columns,
    check_references,
    follow_deletion,
    users_of,
)
from pocketsql.storage.tables import Row, Table, check_definition, table_named
from pocketsql.storage.types import Scalar, stored
from pocketsql.syntax.nodes import (
    CreateTable,
    Delete,
    DropTable,
    Exists,
    Expression,
    InQuery,
    Insert,
    ScalarQuery,
    Update,
    walk,
)
from pocketsql.syntax.writer import expression_text

Tables = dict[str, Table]
"""Tables by name."""


def change(
    statement: CreateTable | DropTable | Insert | Update | Delete,
    tables: Mapping[str, Table],
    parameters: Sequence[Scalar],
) -> tuple[Tables, int]:
    """Carry out a statement.

    Args:
        statement: The statement.
        tables: The tables before.
        parameters: The values of question marks.

    Returns:
        The tables after it, and how many rows it concerned.

    Raises:
        ConstraintError: The tables would break what they promise.
        SchemaError: A table or column is not there, or there already.
        DataError: A value has the wrong type.
    """
    engine = QueryEngine(tables, parameters)
    if isinstance(statement, CreateTable):
        return _create(statement, tables, engine), 0
    if isinstance(statement, DropTable):
        return _drop(statement, tables), 0
    table = table_named(tables, statement.table)
    if isinstance(statement, Insert):
        rows = _new_rows(statement, table, engine)
        count = len(rows) - len(table.rows)
    elif isinstance(statement, Update):
        rows, count = _updated_rows(statement, table, engine)
    else:
        return _delete(statement, table, tables, engine)
    changed = table.with_rows(rows)
    check_columns(changed)
    _check_conditions(changed, engine)
    after = {**tables, table.name: changed}
    check_references(after)
    return after, count


def _create(statement: CreateTable, tables: Mapping[str, Table], engine: QueryEngine) -> Tables:
    if statement.name in tables:
        if statement.if_not_exists:
            return dict(tables)
        raise SchemaError(f"there is a table {statement.name} already")
    table = Table(statement.name, statement.columns)
    check_definition(table, tables)
    blank = Scope(_header(table), (None,) * len(table.columns))
    for column in table.columns:
        for expression in (column.check, column.default):
            if expression is not None:
                _refuse_special(expression, f"{table.name}.{column.name}")
        if column.check is not None:
            engine.evaluator.value(column.check, blank)
        if column.default is not None:
            value = engine.evaluator.value(column.default, Scope(Header()))
            stored(value, column.type, f"{table.name}.{column.name}")
    return {**tables, table.name: table}


def _refuse_special(expression: Expression, name: str) -> None:
    special = (Exists, InQuery, ScalarQuery)
    if has_aggregate(expression) or any(isinstance(node, special) for node in walk(expression)):
        raise SchemaError(f"{name}: constraints hold no subqueries and functions of groups")


def _drop(statement: DropTable, tables: Mapping[str, Table]) -> Tables:
    if statement.name not in tables and statement.if_exists:
        return dict(tables)
    table_named(tables, statement.name)
    users = users_of(tables, statement.name)
    if users:
        raise ConstraintError(f"table {statement.name} is needed by {', '.join(users)}")
    return {name: table for name, table in tables.items() if name != statement.name}


def _header(table: Table) -> Header:
    return Header([(table.name, label) for label in table.labels])


def _new_rows(statement: Insert, table: Table, engine: QueryEngine) -> list[Row]:
    """Return the rows of a table with the inserted ones at the end."""
    columns = statement.columns or tuple(table.labels)
    places = [table.place(column) for column in columns]
    if len(set(places)) < len(places):
        raise SchemaError("a column is given twice")
    defaults = [_default(table, place, engine) for place in range(len(table.columns))]
    rows = list(table.rows)
    for given in _given(statement, places, defaults, engine):
        if len(given) != len(places):
            raise SchemaError(f"expected {len(places)} values for {table.name}, got {len(given)}")
        values = list(defaults)
        for place, value in zip(places, given, strict=True):
            values[place] = value
        rows.append(table.row_of(values))
    return rows


def _default(table: Table, place: int, engine: QueryEngine) -> Scalar:
    default = table.columns[place].default
    return None if default is None else engine.evaluator.value(default, Scope(Header()))


def _given(
    statement: Insert, places: list[int], defaults: list[Scalar], engine: QueryEngine
) -> list[Row]:
    """Return the values that are to be inserted."""
    if statement.query is not None:
        return engine.answer(statement.query)[1]
    nothing = Scope(Header())
    found: list[Row] = []
    for row in statement.rows:
        values = []
        for number, expression in enumerate(row):
            if expression is not None:
                values.append(engine.evaluator.value(expression, nothing))
            else:
                values.append(defaults[places[number]] if number < len(places) else None)
        found.append(tuple(values))
    return found


def _updated_rows(statement: Update, table: Table, engine: QueryEngine) -> tuple[list[Row], int]:
    """Return the rows of a table after an update, and how many it concerned.

    All new values are computed from the old row.
    """
    header = _header(table)
    places = [table.place(column) for column, _ in statement.changes]
    if len(set(places)) < len(places):
        raise SchemaError("a column is set twice")
    rows: list[Row] = []
    count = 0
    for row in table.rows:
        scope = Scope(header, row)
        if not engine.evaluator.condition(statement.where, scope, "WHERE"):
            rows.append(row)
            continue
        values = list(row)
        for place, (_, expression) in zip(places, statement.changes, strict=True):
            values[place] = engine.evaluator.value(expression, scope)
        rows.append(table.row_of(values))
        count += 1
    return rows, count


def _delete(
    statement: Delete, table: Table, tables: Mapping[str, Table], engine: QueryEngine
) -> tuple[Tables, int]:
    header = _header(table)
    kept: list[Row] = []
    gone: list[Row] = []
    for row in table.rows:
        taken = engine.evaluator.condition(statement.where, Scope(header, row), "WHERE")
        (gone if taken else kept).append(row)
    after = follow_deletion({**tables, table.name: table.with_rows(kept)}, table.name, gone)
    check_references(after)
    for changed in after.values():
        if changed.rows != tables[changed.name].rows:
            _check_conditions(changed, engine)
    return after, len(gone)


def _check_conditions(table: Table, engine: QueryEngine) -> None:
    """Refuse rows for which a CHECK is false; NULL is let through."""
    header = _header(table)
    for column in table.columns:
        if column.check is None:
            continue
        for row in table.rows:
            if engine.evaluator.value(column.check, Scope(header, row)) is False:
                raise ConstraintError(
                    f"{table.name}.{column.name} breaks CHECK ({expression_text(column.check)})"
                )
