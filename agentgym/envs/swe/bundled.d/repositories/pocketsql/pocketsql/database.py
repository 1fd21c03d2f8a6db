"""The database: tables, statements, transactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pocketsql.engine.changes import change
from pocketsql.engine.plans import explain
from pocketsql.engine.queries import QueryEngine
from pocketsql.errors import DataError, SqlError
from pocketsql.storage.tables import Row, Table, table_named
from pocketsql.storage.types import Scalar, checked, type_of
from pocketsql.syntax.nodes import Explain, Query, Statement, Transaction
from pocketsql.syntax.statements import parse_script, parse_statement


@dataclass(frozen=True)
class Result:
    """What a statement gives.

    Attributes:
        columns: The labels of the columns; none if it is no query.
        rows: The rows.
        count: How many rows there are, or were changed.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    count: int

    @property
    def value(self) -> Scalar:
        """The only value.

        Raises:
            DataError: There is not exactly one.
        """
        if len(self.rows) != 1 or len(self.columns) != 1:
            raise DataError(f"expected one value, got {len(self.rows)} rows")
        return self.rows[0][0]

    def records(self) -> list[dict[str, Scalar]]:
        """Return the rows as mappings from labels to values."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Database:
    """Tables in memory."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}
        self._saved: dict[str, Table] | None = None

    def execute(self, sql: str, parameters: Sequence[Scalar] = ()) -> Result:
        """Carry out one statement.

        Args:
            sql: The statement.
            parameters: The values of its question marks, from left to right.

        Raises:
            SqlError: It failed; nothing was changed.
        """
        return self._run(parse_statement(sql), parameters)

    def script(self, sql: str) -> list[Result]:
        """Carry out statements with semicolons between them, until one fails.

        Raises:
            SqlError: A statement failed; those before it remain. If the text cannot be read,
                nothing was carried out.
        """
        return [self._run(statement, ()) for statement in parse_script(sql)]

    def insert(self, table: str, rows: Iterable[Sequence[Scalar]]) -> int:
        """Insert rows, all or none.

        Returns:
            How many they were.

        Raises:
            SqlError: A row does not fit.
        """
        found = [tuple(row) for row in rows]
        if not found:
            table_named(self._tables, table.lower())
            return 0
        marks = ", ".join(f"({', '.join('?' * len(row))})" for row in found)
        values = [value for row in found for value in row]
        return self.execute(f"INSERT INTO {table} VALUES {marks}", values).count

    def tables(self) -> list[str]:
        """Return the names of the tables, in the order in which they were made."""
        return list(self._tables)

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Return name and type of the columns of a table.

        Raises:
            SchemaError: There is no such table.
        """
        found = table_named(self._tables, table.lower())
        return [(column.name, column.type) for column in found.columns]

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._saved is not None

    def _run(self, statement: Statement, parameters: Sequence[Scalar]) -> Result:
        for value in parameters:
            _check_parameter(value)
        if isinstance(statement, Query):
            labels, rows = QueryEngine(self._tables, parameters).answer(statement)
            return Result(tuple(labels), rows, len(rows))
        if isinstance(statement, Explain):
            lines: list[Row] = [(line,) for line in explain(statement.query, self._tables)]
            return Result(("plan",), lines, len(lines))
        if isinstance(statement, Transaction):
            self._transact(statement.kind)
            return Result((), [], 0)
        self._tables, count = change(statement, self._tables, parameters)
        return Result((), [], count)

    def _transact(self, kind: str) -> None:
        if kind == "begin":
            if self._saved is not None:
                raise SqlError("a transaction is open already")
            self._saved = self._tables
            return
        if self._saved is None:
            raise SqlError(f"there is no transaction to {kind}")
        if kind == "rollback":
            self._tables = self._saved
        self._saved = None


def _check_parameter(value: Scalar) -> None:
    """Refuse a value that no column can hold."""
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise DataError(f"expected a number, a text, a truth value or None, got {value!r}")
    if type_of(value) in ("INTEGER", "REAL"):
        checked(value)  # type: ignore[arg-type]
