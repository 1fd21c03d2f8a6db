"""Rows under a header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rowdialect.dialect import Dialect
from rowdialect.parser import DEFAULT, RowError, numbered_rows
from rowdialect.writer import format_rows


@dataclass
class Table:
    """A header and the rows under it.

    Attributes:
        header: The names of the columns.
        rows: The rows; each has as many fields as the header.
    """

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    @classmethod
    def from_text(cls, text: str, dialect: Dialect = DEFAULT, fill: str | None = None) -> Table:
        """Read a table whose first row is the header; empty rows are skipped.

        Args:
            text: The text.
            dialect: How it is written.
            fill: What stands for the missing fields of a short row; None refuses short rows.

        Returns:
            The table.

        Raises:
            RowError: There is no header, a name occurs twice, or a row has the wrong width.
        """
        table: Table | None = None
        for number, row in numbered_rows(text, dialect):
            if not row:
                continue
            if table is None:
                if len(set(row)) < len(row):
                    raise RowError("a name occurs twice in the header", number)
                table = cls(row)
                continue
            missing = len(table.header) - len(row)
            if missing < 0 or (missing > 0 and fill is None):
                raise RowError(f"expected {len(table.header)} fields, got {len(row)}", number)
            table.rows.append(row + [fill or ""] * missing)
        if table is None:
            raise RowError("there is no header", line=1)
        return table

    def records(self) -> Iterator[dict[str, str]]:
        """Yield the rows as dictionaries from the names of the columns."""
        for row in self.rows:
            yield dict(zip(self.header, row, strict=True))

    def column(self, name: str) -> list[str]:
        """Return the fields of one column; KeyError if there is none of this name."""
        if name not in self.header:
            raise KeyError(name)
        index = self.header.index(name)
        return [row[index] for row in self.rows]

    def append(self, record: Mapping[str, object]) -> None:
        """Add a row; names that the record lacks become empty, unknown ones raise KeyError."""
        for name in record:
            if name not in self.header:
                raise KeyError(name)
        self.rows.append([str(record.get(name, "")) for name in self.header])

    def to_text(self, dialect: Dialect = DEFAULT) -> str:
        """Write the header and the rows."""
        return format_rows([self.header, *self.rows], dialect)
