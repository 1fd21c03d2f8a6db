"""The user's own questions about their tables: a file of rows.

A row has ``question``, and ``answer`` (a value or a list), ``sql`` (a statement), or both; what it
has as ``evidence`` or ``context`` is shown before the question. Without
an answer ``sql`` determines it: the result of a SELECT is the answer, and the tables after an
INSERT, UPDATE or DELETE are the expected tables. A row may have a ``split`` and a ``kind``.
Statements run only in the engine of the episodes, within its limits.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.core.outcome import well_formed
from agentgym.core.question_rows import OPTIONS, STORIES, with_story
from agentgym.core.row_splits import SplitRow, by_split, file_split, named_split
from agentgym.core.tasks import canonical_json
from agentgym.envs.database.engine.database import Database, SqlError
from agentgym.envs.database.engine.session import Problem, contents_digest, write_cell
from agentgym.envs.database.engine.tables import Table
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.datafiles import ENDINGS, JSON, read_records

SHOWN_BEFORE = ("evidence", *(name for name in STORIES if name != "table"))
"""Fields that are shown before the question; ``evidence`` is what BIRD's readers have to know."""
MOST_VALUES = 100
"""Most values of an answer."""


def read_own(
    tables: tuple[Table, ...], questions: str | os.PathLike[str]
) -> Mapping[str, tuple[Problem, ...]]:
    """Read the questions about tables.

    Args:
        tables: The database that every question is about.
        questions: JSON lines (gzipped or not), a JSON list or parquet.

    Returns:
        The problems of each split, see :mod:`agentgym.core.row_splits`.

    Raises:
        ConfigurationError: ``questions`` is not a path.
        DataError: The file cannot be read, or a row cannot be used; the message has its line.
    """
    if not isinstance(questions, str | os.PathLike) or not os.fspath(questions):
        raise ConfigurationError(
            f"expected questions to be the path of a file, got {questions!r:.80}"
        )
    file = Path(os.fspath(questions)).expanduser()
    if not file.name.endswith((*ENDINGS, JSON)):
        raise DataError(
            f"expected questions to be a file that ends with .jsonl, .json or .parquet, got {file}"
        )
    digest = rows_digest(tables)
    problems, rows = [], []
    for place, row in read_records(file, "search"):
        try:
            problem, split = _read_question(row, tables, digest)
        except ValueError as error:
            raise DataError(f"{error}, in {place} of {file}") from None
        problems.append(problem)
        rows.append(SplitRow(problem.text, split or file_split(file)))
    if not problems:
        raise DataError(f"expected questions in {file}, got none")
    return by_split(problems, rows)


def rows_digest(tables: tuple[Table, ...]) -> str:
    """Return a hash of the rows of tables."""
    text = canonical_json([[list(map(str, row)) for row in table.rows] for table in tables])
    return hashlib.sha256(text.encode()).hexdigest()


def _read_question(row: Any, tables: tuple[Table, ...], digest: str) -> tuple[Problem, str | None]:
    """Read a row; return its problem, and the split that it names.

    Raises:
        ValueError: It cannot be used; says what was expected and what it holds.
    """
    if not isinstance(row, Mapping):
        raise ValueError(f"expected an object with question and answer or sql, got {row!r:.80}")
    text, sql = row.get("question"), row.get("sql")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"expected a text as question, got {text!r:.80}")
    if any(row.get(name) for name in OPTIONS):
        raise ValueError(f"expected a question without options, got {text!r:.80}; leave it out")
    text = with_story(text.strip(), row, SHOWN_BEFORE)
    if not isinstance(sql, str | None):
        raise ValueError(f"expected a statement as sql, got {sql!r:.80}")
    answer, sql = _answer(row.get("answer")), well_formed(sql or "").strip()
    contents = ""
    if sql and not answer:
        answer, contents = _outcome(tables, sql)
    if not answer and not contents:
        raise ValueError(f"expected an answer or sql with the question {text!r:.80}, got neither")
    kind = "change" if contents else str(row.get("kind") or "question")
    problem = Problem(
        well_formed(text),
        kind,
        tables,
        sql,
        answer,
        contents_sha256=contents,
        rows_sha256=digest,
        looked_up=bool(sql) and not contents,
    )
    return problem, named_split(row.get("split"))


def _answer(value: Any) -> tuple[str, ...]:
    """Read the answer of a row: a text, a number, or a list of such."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    is_simple = all(
        isinstance(entry, str | int) or (isinstance(entry, float) and math.isfinite(entry))
        for entry in values
    ) and not any(isinstance(entry, bool) for entry in values)
    if not is_simple or len(values) > MOST_VALUES:
        raise ValueError(
            f"expected an answer as a text, a number or a list of at most {MOST_VALUES} of them, "
            f"got {value!r:.80}"
        )
    return tuple(well_formed(str(entry)) for entry in values)


def _outcome(tables: tuple[Table, ...], sql: str) -> tuple[tuple[str, ...], str]:
    """Return the answer that a statement gives, or a hash of the tables after a change."""
    database = Database(tables)
    try:
        result = database.execute(sql)
        if not result.columns:
            if not database.changed:
                raise ValueError(f"expected sql to change a row, but {sql!r:.80} changes none")
            return (), contents_digest(database.contents())
    except SqlError as error:
        raise ValueError(f"expected sql that runs, but {sql!r:.80} does not: {error}") from None
    finally:
        database.close()
    values = tuple(write_cell(cell) for row in result.rows for cell in row)
    if not values or result.more or len(values) > MOST_VALUES:
        raise ValueError(
            f"expected sql to return 1 to {MOST_VALUES} values, which are the answer, but "
            f"{sql!r:.80} returns {len(values)}{' or more' if result.more else ''}"
        )
    return values, ""
