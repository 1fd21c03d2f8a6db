"""One episode: a database, the actions, and the judge."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgym.core.outcome import bounded
from agentgym.core.tasks import canonical_json
from agentgym.envs.database.engine.answers import same_answer
from agentgym.envs.database.engine.database import Contents, Database, SqlError, SqlResult
from agentgym.envs.database.engine.table_hash import table_hash
from agentgym.envs.database.engine.tables import Cell, Table, schema

SCHEMA, SQL, ANSWER = "schema", "sql", "answer"
"""Names of the actions."""
NOTHING = "no rows"


@dataclass(frozen=True)
class Problem:
    """A task: a database, and a question about it or a change to make."""

    text: str
    """The question, or the change to make, in words."""
    kind: str
    """Kind of question or change."""
    tables: tuple[Table, ...]
    """The database."""
    query: str
    """A statement that answers the question or makes the change; empty if none is known."""
    answer: tuple[str, ...] = ()
    """The expected values; empty if any answer is accepted, as only the tables are judged."""
    contents: Contents = field(default_factory=dict)
    """The expected content of the tables at the end; empty if it equals the initial content."""
    digest: str = ""
    """AgentBench's hash of the tables at the end; it replaces ``contents``."""
    contents_sha256: str = ""
    """:func:`contents_digest` of the tables at the end; it replaces ``contents``."""
    rows_sha256: str = ""
    """A precomputed hash of the rows of ``tables``, if any."""
    looked_up: bool = False
    """Whether the oracle runs ``query`` before it answers, to show how the answer is found."""
    agentbench: bool = False
    """Whether it is a row of AgentBench, whose comparison takes "none" for 0."""


class SqlTurn(NamedTuple):
    """The result of an action."""

    observation: str
    """Text for the policy."""
    failed: bool = False
    """Whether it was a statement that was refused or wrong, and had no effect."""


class SqlStep(NamedTuple):
    """An executed action, and its observation."""

    action: str
    """Name of the action."""
    argument: str
    """Its argument."""
    observation: str
    """Its observation."""


class DatabaseSession:
    """An episode of a task.

    Args:
        problem: The task.
        max_rows: Maximum number of displayed rows of a result.
        max_chars: Maximum length of an observation, in characters.
    """

    def __init__(self, problem: Problem, max_rows: int, max_chars: int) -> None:
        self.problem = problem
        self._max_rows, self._max_chars = max_rows, max_chars
        self._database: Database | None = None
        self.steps: tuple[SqlStep, ...] = ()
        self.answered: str | None = None
        self.solved = False
        self.result: SqlResult | None = None
        self.failed: tuple[str, ...] = ()

    @property
    def database(self) -> Database:
        """The database, created on first use."""
        if self._database is None:
            self._database = Database(self.problem.tables)
        return self._database

    @property
    def changed(self) -> bool:
        """Whether a statement has changed a row."""
        return self._database is not None and self._database.changed

    def has_failed(self, sql: str) -> bool:
        """Return whether a statement has failed."""
        return sql in self.failed

    def act(self, action: str, argument: str = "") -> SqlTurn:
        """Execute an action: `SCHEMA`, `SQL` or `ANSWER`."""
        if action == SCHEMA:
            return self._record_turn(action, argument, schema(self.problem.tables))
        if action == ANSWER:
            self.answered, self.solved = argument, self._is_solved(argument)
            return self._record_turn(action, argument, "right" if self.solved else "wrong")
        try:
            result = self.database.execute(argument)
        except SqlError as error:
            self.failed += (argument,)
            return SqlTurn(bounded(f"error: {error}", self._max_chars), failed=True)
        self.result = result
        return self._record_turn(action, argument, self._table(result))

    def is_lost(self) -> bool:
        """Return whether the tables were changed, but not as requested."""
        problem = self.problem
        if not self.changed or self.answered is not None:
            return False
        return not self._as_expected() and self.database.contents() != contents_of(problem.tables)

    def done(self) -> bool:
        """Return whether exactly the requested change was made."""
        return not self.problem.answer and self.changed and self._as_expected()

    def unchanged(self) -> DatabaseSession:
        """Return a copy for experts that later turns do not alter; no row may have changed."""
        session = copy.copy(self)
        session._database = None
        return session

    def snapshot(self) -> Any:
        """Return a picklable copy of the state."""
        fields = self.steps, self.failed, self.answered, self.solved, self.result
        return *fields, self._database.snapshot() if self._database else None

    def restore(self, state: Any) -> None:
        """Return to a state of the same task."""
        steps, failed, answered, solved, result, rows = state
        database = None if rows is None else Database(self.problem.tables, rows)
        self.close()
        self._database = database
        self.steps, self.failed, self.result = steps, failed, result
        self.answered, self.solved = answered, solved

    def close(self) -> None:
        """Free the database; may be called twice."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def _record_turn(self, action: str, argument: str, text: str) -> SqlTurn:
        text = bounded(text, self._max_chars)
        self.steps += (SqlStep(action, argument, text),)
        return SqlTurn(text)

    def _is_solved(self, answer: str) -> bool:
        problem = self.problem
        is_answer_right = not problem.answer or same_answer(
            answer, problem.answer, agentbench=problem.agentbench
        )
        return is_answer_right and self._as_expected()

    def _as_expected(self) -> bool:
        """Return whether the tables hold what they are to hold in the end."""
        problem = self.problem
        if problem.digest:
            table_rows = (self.database.rows(table.name) for table in problem.tables)
            return table_hash(table_rows) == problem.digest
        if problem.contents_sha256:
            return contents_digest(self.database.contents()) == problem.contents_sha256
        if not problem.contents and not self.changed:
            return True
        return self.database.contents() == (problem.contents or contents_of(problem.tables))

    def _table(self, result: SqlResult) -> str:
        """Write a result: a line of names, then a line for each row."""
        if not result.columns:
            return f"{result.changed} rows changed"
        if not result.rows:
            return NOTHING
        rows = result.rows[: self._max_rows]
        lines = [" | ".join(result.columns), *(" | ".join(map(write_cell, row)) for row in rows)]
        omitted_rows = len(result.rows) - len(rows)
        if omitted_rows or result.more:
            lines.append(f"... {omitted_rows}{' or more' if result.more else ''} more rows")
        return "\n".join(lines)


def write_cell(cell: Cell) -> str:
    """Write a value of a result."""
    if cell is None:
        return "NULL"
    return f"X'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)


def contents_digest(contents: Contents) -> str:
    """Return a hash of the content of tables, regardless of the order of rows."""
    return hashlib.sha256(canonical_json(dict(contents)).encode()).hexdigest()


def contents_of(tables: Sequence[Table]) -> Mapping[str, tuple[str, ...]]:
    """Return the initial content of tables."""
    database = Database(tables)
    try:
        return database.contents()
    finally:
        database.close()
