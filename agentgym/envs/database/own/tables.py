"""The user's own tables: CSV files, a folder of them, or an SQLite database.

Only data is read. An SQLite file is opened read-only, and only the rows of its tables are copied,
never views, triggers or virtual tables.
"""

from __future__ import annotations

import csv
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from agentgym.envs.database.engine.tables import Cell, Column, Row, Table, quoted
from agentgym.errors import ConfigurationError, DataError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""File extension of a table -> the separator of its values."""
DATABASES = (".sqlite", ".sqlite3", ".db")
"""Extensions of SQLite files; any file with content that begins with `_MAGIC` is one, too."""
MOST_ROWS = 20_000
"""Maximum total number of rows: each episode has a copy, and each statement is bounded."""
MOST_CHARS = 1 << 23
"""Maximum total number of characters of all values."""
MOST_COLUMNS = 200
_MAGIC = b"SQLite format 3\x00"
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
_REAL = re.compile(r"[+-]?(?:0|[1-9]\d*)?\.\d+(?:[eE][+-]?\d{1,3})?|[+-]?(?:0|[1-9]\d*)\.?")

Tables = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A CSV file, a folder or list of such files, or an SQLite file."""


def holds_tables(data: object) -> bool:
    """Return whether data contains only tables, so that the questions are in another file."""
    if isinstance(data, list | tuple):
        return True
    path = Path(str(data)).expanduser()
    return path.is_dir() or path.suffix.lower() in (*DELIMITERS, *DATABASES) or _is_sqlite(path)


def read_tables(data: Tables) -> tuple[Table, ...]:
    """Read all tables.

    Args:
        data: A CSV or TSV file with column names in its first line; a folder or a list of such
            files, each a table named after its file; or an SQLite file.

    Raises:
        ConfigurationError: ``data`` is none of these.
        DataError: A file cannot be read or used; the message has the file, and the line of a CSV.
    """
    tables = tuple(table for file in _files(data) for table in _tables_of(file))
    names = [table.name.lower() for table in tables]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"expected tables of different names in {data}, got {twice!r} twice")
    if not tables:
        raise DataError(f"expected a table in {data}, got none")
    rows = sum(len(table.rows) for table in tables)
    chars = sum(len(str(cell)) for table in tables for row in table.rows for cell in row)
    if rows > MOST_ROWS or chars > MOST_CHARS:
        raise DataError(
            f"expected at most {MOST_ROWS:,} rows and {MOST_CHARS >> 20} million characters in all "
            f"tables, got {rows:,} rows and {chars:,} characters in {data}; give a sample of them"
        )
    return tables


def _files(data: Tables) -> list[Path]:
    entries: list[Any] = [*data] if isinstance(data, list | tuple) else [data]
    if not entries or not all(isinstance(entry, str | os.PathLike) for entry in entries):
        raise ConfigurationError(
            f"expected data to be a CSV or SQLite file, or a folder or list of CSV files, got "
            f"{data!r:.80}"
        )
    files = []
    for entry in entries:
        path = Path(os.fspath(entry)).expanduser()
        if not path.exists():
            raise DataError(f"expected a CSV or SQLite file, got {path}, which does not exist")
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        data_files = [file for file in inside if file.suffix.lower() in DELIMITERS or file == path]
        if not data_files:
            raise DataError(f"expected files that end with .csv or .tsv in {path}, got none")
        files += data_files
    return files


def _tables_of(file: Path) -> Iterator[Table]:
    if _is_sqlite(file):
        yield from _of_sqlite(file)
    elif file.suffix.lower() in DELIMITERS:
        yield _of_csv(file)
    else:
        raise DataError(
            f"expected a file that ends with .csv or .tsv, or an SQLite database, got {file}"
        )


def _is_sqlite(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


# -- CSV ----------------------------------------------------------------------------------------


def _of_csv(file: Path) -> Table:
    """Read a table, whose columns are numbers where all of their values are."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.reader(opened, delimiter=DELIMITERS[file.suffix.lower()], strict=True)
            columns = _columns(next(reader, []), file)
            rows = [*_rows(reader, len(columns), file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"expected a table of comma-separated values in UTF-8 in {file}, but it cannot be "
            f"read ({error})"
        ) from error
    kinds = [_kind(row[place] for row in rows) for place in range(len(columns))]
    converters = [_CONVERTERS[kind] for kind in kinds]
    cells = tuple(
        tuple(
            convert(text) if text else None for convert, text in zip(converters, row, strict=True)
        )
        for row in rows
    )
    return Table(_table_name(file.stem, file), tuple(map(Column, columns, kinds)), cells)


def _columns(header: Sequence[str], file: Path) -> list[str]:
    names = [name.strip() for name in header]
    if not names or not all(names) or len({name.lower() for name in names}) < len(names):
        raise DataError(
            f"expected different names of columns in line 1 of {file}, got {names!r:.120}"
        )
    if len(names) > MOST_COLUMNS:
        raise DataError(f"expected at most {MOST_COLUMNS} columns in {file}, got {len(names)}")
    return names


def _rows(reader: Iterator[list[str]], width: int, file: Path) -> Iterator[list[str]]:
    count = 0
    for row in reader:
        if not row:  # an empty line
            continue
        count += 1
        line = getattr(reader, "line_num", count + 1)
        if len(row) != width:
            raise DataError(
                f"expected {width} values, as many as columns, in line {line} of {file}, got "
                f"{len(row)}"
            )
        if count > MOST_ROWS:
            raise DataError(f"expected at most {MOST_ROWS:,} rows in {file}; give a sample of them")
        yield row


def _kind(texts: Iterable[str]) -> str:
    """Return the type of a column: numbers that all are written as numbers are."""
    kind = "INTEGER"
    for text in filter(None, texts):
        if kind == "INTEGER" and not _INTEGER.fullmatch(text):
            kind = "REAL"
        if kind == "REAL" and not (_REAL.fullmatch(text) or _INTEGER.fullmatch(text)):
            return "TEXT"
    return kind


_CONVERTERS: dict[str, Callable[[str], Cell]] = {"INTEGER": int, "REAL": float, "TEXT": str}


def _table_name(name: str, file: Path) -> str:
    if not name or name.lower().startswith("sqlite_"):
        raise DataError(f"expected a name of a table other than {name!r} in {file}; rename it")
    return name


# -- SQLite -------------------------------------------------------------------------------------


def _of_sqlite(file: Path) -> list[Table]:
    """Copy the tables of a database."""
    try:
        # Immutable: nothing is written beside the file, not even a lock.
        uri = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                connection.execute(f"PRAGMA {pragma}")
            definitions = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
            ).fetchall()
            return [
                _copied(connection, name, file)
                for name, sql in definitions
                if not name.lower().startswith("sqlite_")
                and not str(sql).upper().startswith("CREATE VIRTUAL")
            ]
    except sqlite3.Error as error:
        raise DataError(
            f"expected an SQLite database in {file}, but it cannot be read ({error})"
        ) from error


def _copied(connection: sqlite3.Connection, name: str, file: Path) -> Table:
    facts = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    keys = [str(fact[1]) for fact in facts if fact[5]]
    refers = {
        str(row[3]): f" REFERENCES {quoted(str(row[2]))}"
        for row in connection.execute(f"PRAGMA foreign_key_list({quoted(name)})")
    }
    columns = []
    for _, column, declared, *_ in facts:
        kind = _affinity(str(declared))
        if keys == [column] and kind == "INTEGER":
            kind += " PRIMARY KEY"
        columns.append(Column(str(column), kind + refers.get(str(column), "")))
    if not columns or len(columns) > MOST_COLUMNS:
        raise DataError(
            f"expected 1 to {MOST_COLUMNS} columns in the table {name!r} of {file}, got "
            f"{len(columns)}"
        )
    names = ", ".join(quoted(column.name) for column in columns)
    rows: list[Row] = connection.execute(f"SELECT {names} FROM {quoted(name)}").fetchmany(
        MOST_ROWS + 1
    )
    return Table(_table_name(name, file), tuple(columns), tuple(rows))


def _affinity(declared: str) -> str:
    """Return the type of a column in one word, by SQLite's rules; what else it says is dropped."""
    text = declared.upper()
    if "INT" in text:
        return "INTEGER"
    if any(word in text for word in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if "BLOB" in text:
        return "BLOB"
    return "REAL" if any(word in text for word in ("REAL", "FLOA", "DOUB")) else "NUMERIC"
