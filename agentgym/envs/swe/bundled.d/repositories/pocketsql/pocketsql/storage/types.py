"""Types of columns, and conversions between them."""

from __future__ import annotations

import math
from typing import Union

from pocketsql.errors import DataError

Scalar = Union[None, bool, int, float, str]  # noqa: UP007
"""A value; None is NULL."""
LARGEST = 2**63 - 1
"""The largest integer; the smallest one is the negative of it, minus 1."""
_NAMES = {
    "integer": "INTEGER",
    "int": "INTEGER",
    "bigint": "INTEGER",
    "real": "REAL",
    "double": "REAL",
    "float": "REAL",
    "text": "TEXT",
    "varchar": "TEXT",
    "boolean": "BOOLEAN",
    "bool": "BOOLEAN",
}


def type_named(name: str) -> str | None:
    """Return the type that a name means, or None."""
    return _NAMES.get(name.lower())


def type_of(value: Scalar) -> str:
    """Return the type of a value; ``NULL`` for None."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "INTEGER"
    return "REAL" if isinstance(value, float) else "TEXT"


def stored(value: Scalar, wanted: str, column: str) -> Scalar:
    """Return a value as a column of a type holds it.

    Raises:
        DataError: The column cannot hold it.
    """
    found = type_of(value)
    if found in ("NULL", wanted):
        return value
    if wanted == "REAL" and isinstance(value, int) and found == "INTEGER":
        return float(value)
    if wanted == "INTEGER" and isinstance(value, float) and value.is_integer():
        return checked(int(value))
    raise DataError(f"column {column} holds {wanted}, got {found} {value!r}")


def checked(value: int | float) -> int | float:
    """Return a number that is in range.

    Raises:
        DataError: It is not.
    """
    if isinstance(value, int):
        if not -LARGEST - 1 <= value <= LARGEST:
            raise DataError("integer out of range")
    elif not math.isfinite(value):
        raise DataError("number out of range")
    return value


def cast(value: Scalar, wanted: str) -> Scalar:
    """Convert a value to a type.

    Raises:
        DataError: It cannot be converted.
    """
    if value is None:
        return None
    if wanted == "TEXT":
        return as_text(value)
    if wanted == "BOOLEAN":
        return _as_boolean(value)
    if isinstance(value, str):
        value = _read_number(value)
    if wanted == "REAL":
        return float(value)
    return checked(math.trunc(value))


def _read_number(text: str) -> int | float:
    stripped = text.strip()
    try:
        if stripped.lstrip("+-").isdecimal() and len(stripped) < 25:
            return int(stripped)
        return checked(float(stripped.replace("_", "x")))
    except (ValueError, OverflowError):
        raise DataError(f"{text!r} is no number") from None


def _as_boolean(value: Scalar) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        if word not in ("true", "false", "t", "f", "yes", "no"):
            raise DataError(f"{value!r} is no truth value")
        return word in ("true", "t", "yes")
    return value != 0


def as_text(value: Scalar) -> str:
    """Return a value as a text; NULL as an empty one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
