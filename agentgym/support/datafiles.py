"""Files of records, as data sets are published: JSON lines (gzipped or not), JSON, and parquet."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from agentgym.errors import DataError, require

JSON_LINES = (".jsonl", ".jsonl.gz")
PARQUET = ".parquet"
JSON = ".json"
"""A list of records, or an object with that list under ``data``, as TriviaQA has it."""
ENDINGS = (*JSON_LINES, PARQUET)
"""Endings of files that hold records, whatever else lies beside them."""
BATCH = 256
"""Records of a parquet file that are read at once; those of some sets are a megabyte each."""


def stem(path: Path) -> str:
    """Return the name of a file without its ending."""
    endings = (*ENDINGS, JSON)
    return next((path.name[: -len(end)] for end in endings if path.name.endswith(end)), path.name)


def read_records(
    file: Path, extra: str, columns: Collection[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the records of a file, each with where it stands: ``("line 3", {...})``.

    Args:
        file: A file with one of :data:`ENDINGS`, or a :data:`JSON` file.
        extra: The extra of the distribution that brings pyarrow.
        columns: The columns of a parquet file that are read; all of them if left out.

    Raises:
        DataError: The file cannot be read, or a line is no JSON: the message has its number.
        DependencyNotInstalled: A parquet file needs the package ``pyarrow``.
    """
    if file.name.endswith(PARQUET):
        return _parquet(file, extra, columns)
    return _json_file(file) if file.name.endswith(JSON) else _json_lines(file)


def _json_file(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        held = _json(file.read_text(encoding="utf-8-sig"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"expected JSON in {file}, but it cannot be read ({error})") from error
    records = held
    if isinstance(held, dict):
        records = next((held[name] for name in held if name.lower() == "data"), None)
    if not isinstance(records, list):
        raise DataError(
            f"expected a list of records in {file}, or an object with that list under data, got "
            f"{type(held).__name__}"
        )
    for number, record in enumerate(records):
        yield f"record {number}", record


def _json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    opened = gzip.open if file.name.endswith(".gz") else open
    try:
        with opened(file, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"line {number}", _json(line, f"{file}, line {number}")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(
            f"expected JSON lines in {file}, but it cannot be read ({error})"
        ) from error


def _json(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected a JSON object in {place}, got {line[:60]!r} ({error})") from None


def _parquet(file: Path, extra: str, columns: Collection[str] | None) -> Iterator[tuple[str, Any]]:
    parquet = require("pyarrow.parquet", extra)
    try:
        source = parquet.ParquetFile(file)
        names = source.schema_arrow.names
        chosen = names if columns is None else [name for name in names if name in columns]
        number = 0
        for batch in source.iter_batches(batch_size=BATCH, columns=chosen):
            for record in batch.to_pylist():
                yield f"record {number}", record
                number += 1
    except (OSError, ValueError, RuntimeError) as error:  # of these kinds are pyarrow's own
        raise DataError(
            f"expected a parquet file at {file}, but it cannot be read ({error})"
        ) from error
