"""A small in-memory database that executes hostile SQL within limits."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentgym.envs.database.engine.clock import set_clock
from agentgym.envs.database.engine.guard import Guard
from agentgym.envs.database.engine.tables import Cell, Row, Table, quoted

STEPS = 100_000
"""Maximum number of instructions of SQLite's virtual machine per statement: a count, so that a
statement stops at the same place on every machine."""
STEPS_A_ROW = 25
"""The same per row of the tables, if that is more: enough to read, sort and count a row."""
_AT_A_TIME = 1000
"""Instructions between two counts."""
LENGTH = 2000
"""Maximum size of a value or a row, in bytes, unless rows of the task are about as long. With
`STEPS` it bounds the memory of a statement, as each row that is sorted or stored takes several
instructions, and its duration, as an instruction may search a value."""
PAGES = 1024
"""Maximum number of pages of four kilobytes, unless the tables have more text."""
ROOM = 4
"""Multiple of the size of such tables."""
MOST_ROWS = 1000
"""Maximum number of fetched rows of a result."""
MOST_CHARS = 1_000_000
"""Number of characters of a result after which no further row is fetched."""
LAST_ID = 2**62
"""Largest id of a row. After the last possible one SQLite draws ids at random."""
_ROW_NAMES = ("rowid", "_rowid_", "oid")

Contents = Mapping[str, tuple[str, ...]]
"""The rows of each table by its name, as sorted texts: equal for equal tables."""
State = tuple[tuple[tuple[int, ...], tuple[Row, ...]], ...]
"""Row ids and rows of each table."""


class SqlError(Exception):
    """A statement was refused or failed, without effect; the text is for the policy."""


class SqlResult(NamedTuple):
    """The result of a statement."""

    columns: tuple[str, ...]
    """Names of the columns; empty for a change."""
    rows: tuple[Row, ...]
    """Its rows, at most `MOST_ROWS`."""
    more: bool
    """Whether there were more rows."""
    changed: int
    """Number of inserted, updated or deleted rows."""


class Database:
    """The database of an episode.

    Args:
        tables: The tables, with different names, none of which begins with ``sqlite_``.
        state: Rows that replace the rows of the tables; None keeps them.
    """

    def __init__(self, tables: Sequence[Table], state: State | None = None) -> None:
        self._tables, self._ticks = tuple(tables), 0
        self._steps = max(STEPS, STEPS_A_ROW * sum(len(table.rows) for table in tables))
        self._guard = Guard([table.name for table in tables])
        # A vector environment may step it in another thread than the one that made it.
        self._connection = sqlite3.connect(
            ":memory:",
            isolation_level=None,
            check_same_thread=False,
            cached_statements=0,  # One that is kept goes on counting where it stopped.
        )
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._fill(state)
        self._changes_at_start = self._connection.total_changes if state is None else -1
        self._bound()

    @property
    def changed(self) -> bool:
        """Whether a statement has changed a row since the tables were made."""
        return self._connection.total_changes != self._changes_at_start

    def execute(self, sql: str) -> SqlResult:
        """Execute one statement of a policy.

        Raises:
            SqlError: The statement is refused or wrong, or exceeds a limit; it has no effect.
        """
        problem = self._guard.refusal(sql)
        if problem:
            raise SqlError(problem)
        changes_before = self._connection.total_changes
        cursor = self._connection.cursor()
        self._trusted("BEGIN")
        self._ticks = 0
        try:
            cursor.execute(sql)
            rows, more = _fetched(cursor)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            changed = self._connection.total_changes - changes_before
            if changed and any(self._last_id(table) > LAST_ID for table in self._tables):
                raise ValueError(f"the id of a row is at most {LAST_ID}")
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
            cursor.close()
            words = self._words(error)
            if self._connection.in_transaction:  # Some errors have ended it.
                self._trusted("ROLLBACK")
            self._changes_at_start += self._connection.total_changes - changes_before
            raise SqlError(words) from error
        cursor.close()
        self._trusted("COMMIT")
        return SqlResult(columns, rows, more, changed)

    def contents(self) -> Contents:
        """Return the content of the tables, regardless of the order of rows."""
        self._ticks = -(2**40)
        return {
            table.name: tuple(sorted(map(repr, self._rows(f"SELECT * FROM {quoted(table.name)}"))))
            for table in self._tables
        }

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table."""
        self._ticks = -(2**40)
        return self._rows(f"SELECT * FROM {quoted(table)}")

    def snapshot(self) -> State | None:
        """Return the rows of all tables; None if nothing has changed."""
        if not self.changed:
            return None
        self._ticks = -(2**40)
        states = []
        for table in self._tables:
            row_id = _row_name(table)
            rows = self._rows(f"SELECT {row_id}, * FROM {quoted(table.name)} ORDER BY {row_id}")
            states.append((tuple(int(str(row[0])) for row in rows), tuple(row[1:] for row in rows)))
        return tuple(states)

    def close(self) -> None:
        """Free the database; may be called twice."""
        self._connection.close()

    def _fill(self, state: State | None) -> None:
        """Make the tables with their rows."""
        run = self._connection.execute
        pages = max(PAGES, ROOM * sum(map(_size, self._tables)) >> 12)
        run(f"PRAGMA max_page_count = {pages}")
        run("BEGIN")
        for place, table in enumerate(self._tables):
            run(table.definition())
            marks = ", ".join("?" * len(table.columns))
            if state is None:
                into, rows = quoted(table.name), table.rows
            else:
                names = ", ".join(quoted(column.name) for column in table.columns)
                into, marks = f"{quoted(table.name)} ({_row_name(table)}, {names})", f"?, {marks}"
                rows = tuple((key, *row) for key, row in zip(*state[place], strict=True))
            self._connection.executemany(f"INSERT INTO {into} VALUES ({marks})", rows)
        run("COMMIT")

    def _bound(self) -> None:
        """Set the bounds of what statements may do and take."""
        connection = self._connection
        set_clock(connection)
        if sys.version_info >= (3, 11):
            rows = (row for table in self._tables for row in table.rows)
            longest = max((sum(len(str(cell)) for cell in row) for row in rows), default=0)
            limits = {
                sqlite3.SQLITE_LIMIT_LENGTH: max(LENGTH, 8 * longest),
                sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
                sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
                sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
                sqlite3.SQLITE_LIMIT_COLUMN: 256,
                sqlite3.SQLITE_LIMIT_ATTACHED: 0,
                sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
            }
            for limit, value in limits.items():
                connection.setlimit(limit, value)
        connection.set_authorizer(self._guard.authorize)
        connection.set_progress_handler(self._tick, _AT_A_TIME)

    def _tick(self) -> int:
        """Count instructions; a number above 0 ends the statement."""
        self._ticks += _AT_A_TIME
        return int(self._ticks > self._steps)

    def _trusted(self, sql: str) -> None:
        """Carry out a statement of our own, which no policy could."""
        self._ticks = -(2**40)
        self._guard.trusts = True
        try:
            self._connection.execute(sql)
        finally:
            self._guard.trusts = False

    def _last_id(self, table: Table) -> int:
        """Return the largest id of a row."""
        largest = self._rows(f"SELECT max({_row_name(table)}) FROM {quoted(table.name)}")[0][0]
        return largest if isinstance(largest, int) else 0

    def _rows(self, sql: str) -> list[Row]:
        rows: list[tuple[Cell, ...]] = self._connection.execute(sql).fetchall()
        return rows

    def _words(self, error: Exception) -> str:
        """Say what was wrong with a statement."""
        if self._ticks > self._steps:
            return "the statement takes too long"
        return self._guard.denied or str(error) or type(error).__name__


def _fetched(cursor: sqlite3.Cursor) -> tuple[tuple[Row, ...], bool]:
    """Return the rows of a result within the bounds, and whether there are more."""
    rows: list[Row] = []
    chars_left = MOST_CHARS
    for row in cursor:
        if len(rows) == MOST_ROWS or chars_left <= 0:
            return tuple(rows), True
        rows.append(row)
        chars_left -= sum(len(cell) for cell in row if isinstance(cell, str | bytes))
    return tuple(rows), False


def _size(table: Table) -> int:
    """Return about how many bytes the rows of a table take."""
    return sum(len(str(cell)) + 8 for row in table.rows for cell in row)


def _row_name(table: Table) -> str:
    """Return a name of the row's id that no column hides."""
    column_names = {column.name.lower() for column in table.columns}
    return next(name for name in _ROW_NAMES if name not in column_names)
