"""One episode: a database, what was typed, and whether it came out right."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgym.core.outcome import bounded
from agentgym.core.tasks import canonical_json
from agentgym.envs.database.engine.answers import same_answer
from agentgym.envs.database.engine.database import Contents, Database, Result, SqlError
from agentgym.envs.database.engine.table_hash import table_hash
from agentgym.envs.database.engine.tables import Cell, Table, schema

SCHEMA, SQL, ANSWER = "schema", "sql", "answer"
"""Names of the actions."""
NOTHING = "no rows"


@dataclass(frozen=True)
class Problem:
    """A task: a database, and what is asked of it."""

    text: str
    """The question, or the change that is to be made, in words."""
    kind: str
    """What kind of question or change it is."""
    tables: tuple[Table, ...]
    """The database."""
    query: str
    """A statement that answers the question or makes the change; empty if none is known."""
    answer: tuple[str, ...] = ()
    """The values to answer; none where any answer will do, as the tables are what counts."""
    contents: Contents = field(default_factory=dict)
    """What the tables are to hold in the end; empty if that is what they hold at first."""
    digest: str = ""
    """AgentBench's hash of the tables in the end, which counts instead of ``contents``."""
    contents_sha256: str = ""
    """:func:`contents_digest` of the tables in the end, which counts instead of ``contents``."""
    rows_sha256: str = ""
    """A hash of the rows of ``tables``, if whoever made them has computed it."""
    looked_up: bool = False
    """Whether the solver shows how the answer is found: it runs ``query`` before it answers."""


class Turn(NamedTuple):
    """What an action did."""

    observation: str
    """For the policy."""
    failed: bool = False
    """Whether it was a statement that was refused or wrong, and changed nothing."""


class Step(NamedTuple):
    """An action that was carried out, and what it showed."""

    action: str
    """Name of the action."""
    argument: str
    """Its argument."""
    observation: str
    """What it showed."""


class DatabaseSession:
    """An episode of a task.

    Args:
        problem: The task.
        max_rows: Most rows of a result that are shown.
        max_chars: Most characters of an observation.
    """

    def __init__(self, problem: Problem, max_rows: int, max_chars: int) -> None:
        self.problem = problem
        self._max_rows, self._max_chars = max_rows, max_chars
        self._database: Database | None = None
        self.steps: tuple[Step, ...] = ()
        self.answered: str | None = None
        self.solved = False
        self.result: Result | None = None
        self.failed: tuple[str, ...] = ()

    @property
    def database(self) -> Database:
        """The database, made when it is first asked for."""
        if self._database is None:
            self._database = Database(self.problem.tables)
        return self._database

    @property
    def changed(self) -> bool:
        """Whether a statement has changed a row."""
        return self._database is not None and self._database.changed

    def tried(self, sql: str) -> bool:
        """Return whether a statement has failed."""
        return sql in self.failed

    def act(self, action: str, argument: str = "") -> Turn:
        """Carry out an action: `SCHEMA`, `SQL` or `ANSWER`."""
        if action == SCHEMA:
            return self._shown(action, argument, schema(self.problem.tables))
        if action == ANSWER:
            self.answered, self.solved = argument, self._is_solved(argument)
            return self._shown(action, argument, "right" if self.solved else "wrong")
        try:
            result = self.database.execute(argument)
        except SqlError as error:
            self.failed += (argument,)
            return Turn(bounded(f"error: {error}", self._max_chars), failed=True)
        self.result = result
        return self._shown(action, argument, self._table(result))

    def lost(self) -> bool:
        """Return whether the tables were changed into something that is not asked for."""
        problem = self.problem
        if not self.changed or self.answered is not None:
            return False
        return not self._as_expected() and self.database.contents() != contents_of(problem.tables)

    def done(self) -> bool:
        """Return whether the change that is asked for was made."""
        return not self.problem.answer and self.changed and self._as_expected()

    def snapshot(self) -> Any:
        """Return a picklable copy of the state."""
        told = self.steps, self.failed, self.answered, self.solved, self.result
        return *told, self._database.snapshot() if self._database else None

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
        before, self._database = self._database, None
        if before is not None:
            before.close()

    def _shown(self, action: str, argument: str, text: str) -> Turn:
        text = bounded(text, self._max_chars)
        self.steps += (Step(action, argument, text),)
        return Turn(text)

    def _is_solved(self, answer: str) -> bool:
        expected = self.problem.answer
        return (not expected or same_answer(answer, expected)) and self._as_expected()

    def _as_expected(self) -> bool:
        """Return whether the tables hold what they are to hold in the end."""
        problem = self.problem
        if problem.digest:
            held = (self.database.rows(table.name) for table in problem.tables)
            return table_hash(held) == problem.digest
        if problem.contents_sha256:
            return contents_digest(self.database.contents()) == problem.contents_sha256
        if not problem.contents and not self.changed:
            return True
        return self.database.contents() == (problem.contents or contents_of(problem.tables))

    def _table(self, result: Result) -> str:
        """Write a result: a line of names, then a line for each row."""
        if not result.columns:
            return f"{result.changed} rows changed"
        if not result.rows:
            return NOTHING
        shown = result.rows[: self._max_rows]
        lines = [" | ".join(result.columns), *(" | ".join(map(written, row)) for row in shown)]
        left = len(result.rows) - len(shown)
        if left or result.more:
            lines.append(f"... {left}{' or more' if result.more else ''} more rows")
        return "\n".join(lines)


def written(cell: Cell) -> str:
    """Write a value of a result."""
    if cell is None:
        return "NULL"
    return f"X'{cell.hex()}'" if isinstance(cell, bytes) else str(cell)


def contents_digest(contents: Contents) -> str:
    """Return a hash of what tables hold, whatever the order of their rows."""
    return hashlib.sha256(canonical_json(dict(contents)).encode()).hexdigest()


def contents_of(tables: Sequence[Table]) -> Mapping[str, tuple[str, ...]]:
    """Return what tables hold when nobody has changed them."""
    database = Database(tables)
    try:
        return database.contents()
    finally:
        database.close()
