"""Read and check rows of AgentBench's dbbench.

A row has ``description`` (the question), ``add_description`` and ``evidence`` (more of it),
``table`` (one or a list: ``table_name``, and ``table_info`` with ``columns`` and ``rows``; all
values are texts), ``type`` (a list: INSERT, UPDATE and DELETE are changes, all else are questions),
``label`` (the expected values), ``answer_md5`` (the hash of the tables after a change; if empty,
``sql.query`` makes the change) and ``sql`` (``query``, in MySQL's dialect). It may also have a
``split``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.core.row_splits import SplitRow, by_split, file_split, named_split
from agentgym.core.tasks import canonical_json
from agentgym.envs.database.engine.database import Database, SqlError
from agentgym.envs.database.engine.session import Problem
from agentgym.envs.database.engine.table_hash import table_hash
from agentgym.envs.database.engine.tables import Column, Table, schema
from agentgym.errors import DataError
from agentgym.support.datafiles import read_records

CHANGES = ("INSERT", "UPDATE", "DELETE")


def read_problems(file: Path) -> Mapping[str, tuple[Problem, ...]]:
    """Read the tasks of a file.

    Args:
        file: JSON lines, gzipped or not, or a JSON list.

    Returns:
        The problems of each split, see :mod:`agentgym.core.row_splits`.

    Raises:
        DataError: The file cannot be read, or a row is not of dbbench; the message says which.
    """
    problems, rows = [], []
    for place, row in read_records(file, "search"):
        try:
            problem = _problem(row)
            split = named_split(row.get("split")) or file_split(file)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise DataError(
                f"expected a row of dbbench in {file}, {place}, got {row!r:.200} "
                f"({type(error).__name__}: {error})"
            ) from error
        problems.append(problem)
        rows.append(SplitRow(canonical_json([problem.text, schema(problem.tables)]), split))
    if not problems:
        raise DataError(f"expected rows of dbbench in {file}, got none")
    return by_split(problems, rows)


def _problem(row: Mapping[str, Any]) -> Problem:
    """Read a row."""
    parts = (row.get("evidence"), row.get("add_description"), row["description"])
    text = "\n".join(str(part) for part in parts if part)
    entries = row["table"] if isinstance(row["table"], list) else [row["table"]]
    tables = tuple(map(_table, entries))
    kind = str(row["type"][0])
    query = str((row.get("sql") or {}).get("query") or "")
    if kind in CHANGES:
        answer_digest = str(row.get("answer_md5") or "").strip("[](),' ")
        return Problem(text, kind, tables, query, digest=answer_digest or _digest_of(tables, query))
    label = row["label"] if isinstance(row["label"], list) else [row["label"]]
    if not label:
        raise ValueError("label is empty")
    return Problem(text, kind, tables, query, tuple(map(str, label)), agentbench=True)


def _table(entry: Mapping[str, Any]) -> Table:
    """Read a table, of which all values are texts, as they are in AgentBench."""
    name, info = str(entry["table_name"]), entry["table_info"]
    if not name or name.lower().startswith("sqlite_"):
        raise ValueError(f"a table cannot be named {name!r}")
    columns = tuple(Column(str(column["name"]), "TEXT") for column in info["columns"])
    rows = tuple(tuple(map(str, row)) for row in info["rows"])
    if not columns or any(len(row) != len(columns) for row in rows):
        raise ValueError(f"expected {len(columns)} values in each row of {name}")
    if len({column.name.lower() for column in columns}) < len(columns):
        raise ValueError(f"expected columns of different names in {name}")
    return Table(name, columns, rows)


def _digest_of(tables: tuple[Table, ...], query: str) -> str:
    """Return the hash of tables after a statement."""
    database = Database(tables)
    try:
        database.execute(query)
        return table_hash(database.rows(table.name) for table in tables)
    except SqlError as error:
        raise ValueError(f"answer_md5 is empty, and sql.query fails: {error}") from error
    finally:
        database.close()
