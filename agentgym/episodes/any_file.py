"""Read episodes from any supported file: records, or an export."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgym.episodes.agenttraj import read_items
from agentgym.episodes.atif import from_atif, trajectory_files
from agentgym.episodes.records import Episode, read_episodes
from agentgym.episodes.table_rows import from_row
from agentgym.errors import DataError, require
from agentgym.support.strict_json import parse_json

__all__ = ["read_any"]

_KINDS = (
    "expected records of episodes, or what agentgym export --to jsonl, parquet, datasets, atif or "
    "agenttraj wrote of them"
)
_TABLE = 64
"""Number of rows of a parquet file to read at a time."""


def read_any(
    path: str | Path,
    *,
    on_torn: Callable[[int], None] = lambda number: None,
    on_skipped: Callable[[int, DataError], None] | None = None,
) -> Iterator[Episode]:
    """Read the episodes of a file of records or of an export, one at a time.

    Args:
        path: A JSONL file of records, such as a run, `agentgym.episodes.Recorder` or
            ``agentgym serve --record`` writes; or a JSONL or parquet file, a folder of
            ``datasets``, a file or folder of ``atif``, or a file of ``agenttraj``, of ``agentgym
            export``; or an AgentTraj file of another writer. A truncated last line of records, as
            left by a killed process, is skipped.
        on_torn: Called with the number of a truncated line.
        on_skipped: Skip any invalid line of records, and call this with its number and the reason.

    Yields:
        The episodes in order.

    Raises:
        DataError: The file has another format, or is damaged.
        DependencyNotInstalled: The package ``pyarrow`` is needed and missing.
    """
    path = Path(path)
    if documents := trajectory_files(path):
        for document in documents:
            yield from _document(document)
    elif path.is_dir():
        parts = sorted(path.glob("data/*.parquet"))
        if not parts:
            raise DataError(f"{_KINDS}; got the folder {path} without any of these")
        for part in parts:
            yield from read_any(part)
    elif path.suffix == ".parquet":
        yield from map(from_row, _table(path))
    elif _is_export(path):
        yield from _exported_rows(path)
    elif on_skipped is not None:
        yield from read_episodes(path, strict=False, on_skipped=on_skipped)
    else:
        yield from read_episodes(path, on_torn=on_torn)


def _exported_rows(path: Path) -> Iterator[Episode]:
    """Yield the episodes of a JSON-lines file of ``agentgym export``."""
    number = 0
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):  # noqa: B007  (for the message)
                if line.strip():
                    yield from_row(parse_json(line))
    except (OSError, ValueError, DataError) as error:
        raise DataError(f"{path}, line {number}: {error}") from error


def _document(path: Path) -> Iterator[Episode]:
    """Yield the episodes of a JSON document: an ATIF trajectory, or a list of AgentTraj's items."""
    try:
        document = parse_json(path.read_bytes())
        yield from read_items(document) if isinstance(document, list) else [from_atif(document)]
    except (OSError, ValueError, RecursionError, DataError) as error:
        raise DataError(f"{path}: {error}") from error


def _table(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet file."""
    arrow, parquet = require("pyarrow", "search"), require("pyarrow.parquet", "search")
    try:
        with parquet.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=_TABLE):
                yield from batch.to_pylist()
    except (OSError, arrow.ArrowException) as error:
        raise DataError(f"{_KINDS}; {path} cannot be read: {error}") from error


def _is_export(path: Path) -> bool:
    """Return whether a JSONL file holds rows of an export; records have no ``num_turns``.

    Raises:
        DataError: It holds conversations, which do not tell what the policy is to read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            first: Any = json.loads(next((line for line in file if line.strip()), "{}"))
    except (OSError, ValueError, RecursionError):
        return False  # read_episodes raises the error with the line number
    if not isinstance(first, Mapping):
        return False
    if {"messages", "completion"} & set(first):
        raise DataError(
            f"{_KINDS}; got conversations in {path}, which are written for one prompt and do not "
            "tell what another policy would read: export the records with --to jsonl, or play the "
            "responses with agentgym export --to records"
        )
    return "num_turns" in first
