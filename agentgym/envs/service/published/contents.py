"""Contents of published files, which are of limited size and of the expected form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentgym.errors import DataError
from agentgym.support.strict_json import parse_json

LARGEST = 1 << 25
"""Maximum size of a file in bytes."""


def read_text(file: Path) -> str:
    """Return the text of a file.

    Raises:
        DataError: It is missing, too large or no text.
    """
    try:
        size = file.stat().st_size
        if size > LARGEST:
            raise DataError(f"expected at most {LARGEST} bytes in {file}, got {size}")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"expected a readable file of tau-bench at {file}, but {error}") from error


def read_json(file: Path) -> Any:
    """Return the JSON of a file.

    Raises:
        DataError: It cannot be read, or is no JSON.
    """
    try:
        return parse_json(read_text(file))
    except ValueError as error:
        raise DataError(f"expected JSON in {file}, but {error}") from error


def read_table(file: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a file by id.

    Raises:
        DataError: It cannot be read, or has another form.
    """
    return as_table(read_json(file), f"in {file}")


def as_table(rows: Any, place: str) -> dict[str, dict[str, Any]]:
    """Return JSON that is a table.

    Raises:
        DataError: It is none.
    """
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise DataError(f"expected an object of rows by id {place}")
    return rows
