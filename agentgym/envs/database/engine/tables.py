"""Tables of columns and rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

Cell = str | int | float | bytes | None
Row = tuple[Cell, ...]

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class Column(NamedTuple):
    """A column of a table."""

    name: str
    """Its name."""
    declared: str
    """Its type and further declarations, in SQL."""


class Table(NamedTuple):
    """A table with its rows."""

    name: str
    """Its name."""
    columns: tuple[Column, ...]
    """Its columns."""
    rows: tuple[Row, ...] = ()
    """Its rows, in the order in which they were inserted."""

    def definition(self) -> str:
        """Return the statement that creates the table; names are quoted if necessary."""
        columns = ", ".join(f"{quoted(name)} {declared}" for name, declared in self.columns)
        return f"CREATE TABLE {quoted(self.name)} ({columns})"


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """Write a name in SQL, quoted if necessary."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def schema(tables: Sequence[Table]) -> str:
    """Describe tables by the statements that create them, one per line."""
    return "\n".join(table.definition() for table in tables)
