"""Files of records, as data sets are published: JSON lines (gzipped or not), JSON, and parquet."""

from __future__ import annotations

import gzip
import json
import re
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
"""Number of records of a parquet file to read at once; some have a megabyte each."""


def stem(path: Path) -> str:
    """Return the name of a file without its ending."""
    endings = (*ENDINGS, JSON)
    return next((path.name[: -len(end)] for end in endings if path.name.endswith(end)), path.name)


def read_records(
    file: Path, extra: str, columns: Collection[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the records of a file, each with its position: ``("line 3", {...})``.

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
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"expected JSON in {file}, but it cannot be read ({error})") from error
    try:
        content = _json(text, str(file))
    except DataError:
        if _is_object(next((line for line in text.split("\n") if line.strip()), "")):
            raise DataError(
                f"expected one JSON object or list in {file}, got JSON lines: rename it to "
                f"{stem(file)}.jsonl"
            ) from None
        raise
    records = content
    if isinstance(content, dict):
        records = next((content[name] for name in content if name.lower() == "data"), None)
    if not isinstance(records, list):
        raise DataError(
            f"expected a list of records in {file}, or an object with that list under data, got "
            f"{type(content).__name__}; if it holds JSON lines, rename it to {stem(file)}.jsonl"
        )
    for number, record in enumerate(records):
        yield f"record {number}", record


def _json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    opened = gzip.open if file.name.endswith(".gz") else open
    try:
        with opened(file, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                if number == 1 and _begins_list(line):
                    raise DataError(
                        f"expected a JSON object in each line of {file}, got a list: "
                        f"{'rename' if opened is open else 'unpack'} it to {stem(file)}.json"
                    )
                yield f"line {number}", _json(line, f"{file}, line {number}")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(
            f"expected JSON lines in {file}, but it cannot be read ({error})"
        ) from error


def _is_object(line: str) -> bool:
    """Return whether a line is a JSON object by itself."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _begins_list(line: str) -> bool:
    """Return whether the first line of a file begins a list of objects, on one line or several."""
    return re.match(r"\s*\[\s*(?:$|\{)", line) is not None


def _json(line: str, place: str) -> Any:
    try:
        return json.loads(line)  # with NaN, as published sets have it in place of what is missing
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected a JSON object in {place}, got {line[:60]!r} ({error})") from None


def _parquet(file: Path, extra: str, columns: Collection[str] | None) -> Iterator[tuple[str, Any]]:
    parquet = require("pyarrow.parquet", extra)
    try:
        source = parquet.ParquetFile(file)
        names = source.schema_arrow.names
        selected = names if columns is None else [name for name in names if name in columns]
        number = 0
        for batch in source.iter_batches(batch_size=BATCH, columns=selected):
            for record in batch.to_pylist():
                yield f"record {number}", record
                number += 1
    except (OSError, ValueError, RuntimeError) as error:  # of these kinds are pyarrow's own
        raise DataError(
            f"expected a parquet file at {file}, but it cannot be read ({error})"
        ) from error
