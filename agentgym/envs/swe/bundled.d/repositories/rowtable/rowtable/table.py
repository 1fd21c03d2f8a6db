"""Tables: named columns and rows of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from rowtable.aggregates import aggregate
from rowtable.errors import TableError

Row = tuple[Any, ...]


class Table:
    """A table that never changes.

    Args:
        columns: The names of its columns, all different.
        rows: Its rows, each with a value for every column.
    """

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Any]] = ()) -> None:
        self.columns = tuple(columns)
        self.rows: list[Row] = [tuple(row) for row in rows]
        for name in self.columns:
            if self.columns.count(name) > 1:
                raise TableError(f"the column {name!r} is there twice")
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise TableError(f"row {number} has {len(row)} values, not {len(self.columns)}")

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> Table:
        """Make a table of dictionaries; keys that a record lacks are missing values."""
        items = list(records)
        columns = list(dict.fromkeys(name for record in items for name in record))
        return cls(columns, [[record.get(name) for name in columns] for record in items])

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the rows as dictionaries."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def __eq__(self, other: object) -> bool:
        """Compare columns and rows, with their order."""
        if not isinstance(other, Table):
            return NotImplemented
        return self.columns == other.columns and self.rows == other.rows

    __hash__ = None  # type: ignore[assignment]

    def index(self, name: str) -> int:
        """Find the place of a column."""
        if name not in self.columns:
            raise TableError(f"no column {name!r}, there are {', '.join(self.columns)}")
        return self.columns.index(name)

    def column(self, name: str) -> list[Any]:
        """List the values of a column."""
        place = self.index(name)
        return [row[place] for row in self.rows]

    def where(self, condition: Callable[[dict[str, Any]], Any]) -> Table:
        """Keep the rows for which a condition holds."""
        kept = [row for row, record in zip(self.rows, self, strict=True) if condition(record)]
        return Table(self.columns, kept)

    def select(self, *names: str) -> Table:
        """Keep some columns, in the order given."""
        places = [self.index(name) for name in names]
        return Table(names, [[row[place] for place in places] for row in self.rows])

    def rename(self, **names: str) -> Table:
        """Rename columns: ``table.rename(old="new")``."""
        for name in names:
            self.index(name)
        return Table([names.get(name, name) for name in self.columns], self.rows)

    def extend(self, name: str, compute: Callable[[dict[str, Any]], Any]) -> Table:
        """Add a column computed from each row; a column of this name is replaced in its place."""
        values = [compute(record) for record in self]
        if name not in self.columns:
            rows = [(*row, value) for row, value in zip(self.rows, values, strict=True)]
            return Table((*self.columns, name), rows)
        place = self.index(name)
        pairs = zip(self.rows, values, strict=True)
        return Table(self.columns, [(*r[:place], value, *r[place + 1 :]) for r, value in pairs])

    def sort(self, *names: str) -> Table:
        """Sort by columns, the first one before all; a dash in front turns the order round.

        Rows that are equal keep their order, and missing values come last.
        """
        rows = list(self.rows)
        for name in reversed(names):
            descending = name.startswith("-")
            place = self.index(name.removeprefix("-"))
            present = [row for row in rows if row[place] is not None]
            missing = [row for row in rows if row[place] is None]
            present.sort(key=itemgetter(place), reverse=descending)
            rows = present + missing
        return Table(self.columns, rows)

    def limit(self, count: int, offset: int = 0) -> Table:
        """Keep some rows after leaving out others at the beginning."""
        if count < 0 or offset < 0:
            raise TableError("limit and offset cannot be negative")
        return Table(self.columns, self.rows[offset : offset + count])

    def unique(self, *names: str) -> Table:
        """Keep the first of the rows that are equal in some columns; in all if none is named."""
        places = [self.index(name) for name in names or self.columns]
        kept: dict[Row, Row] = {}
        for row in self.rows:
            kept.setdefault(tuple(row[place] for place in places), row)
        return Table(self.columns, kept.values())

    def append(self, other: Table) -> Table:
        """Put the rows of another table with the same columns behind, whatever their order."""
        if set(self.columns) != set(other.columns):
            raise TableError("the tables have different columns")
        return Table(self.columns, self.rows + other.select(*self.columns).rows)

    def groups(self, *names: str) -> dict[Row, Table]:
        """Split the rows by their values in some columns, in the order of first appearance."""
        places = [self.index(name) for name in names]
        parts: dict[Row, list[Row]] = {}
        for row in self.rows:
            parts.setdefault(tuple(row[place] for place in places), []).append(row)
        return {key: Table(self.columns, rows) for key, rows in parts.items()}

    def group_by(self, *names: str, **results: tuple[str, str]) -> Table:
        """Make one row of each group.

        Args:
            *names: The columns by which rows are grouped; without any, all rows are one group.
            **results: For each new column the name of an aggregate and the column that it is
                applied to; ``("count", "*")`` counts rows.
        """
        parts = self.groups(*names) if names else {(): self}
        rows = []
        for key, part in parts.items():
            values = [part._aggregate(function, name) for function, name in results.values()]
            rows.append((*key, *values))
        return Table((*names, *results), rows)

    def _aggregate(self, function: str, name: str) -> Any:
        if name == "*":
            return aggregate(function, self.rows)
        return aggregate(function, self.column(name))

    def join(self, other: Table, on: str | tuple[str, str], how: str = "inner") -> Table:
        """Combine rows of two tables that are equal in a column.

        Args:
            other: The table on the right; of its columns those that this one has, too, get a
                ``_2`` behind their name.
            on: The column, or its names on the left and on the right. The one on the right is
                left out. Missing values equal nothing.
            how: ``inner``, or ``left`` to keep rows of this table that fit none of the other.
        """
        if how not in ("inner", "left"):
            raise TableError(f"how is inner or left, not {how!r}")
        left, right = (on, on) if isinstance(on, str) else on
        left_place, right_place = self.index(left), other.index(right)
        found: dict[Any, list[Row]] = {}
        for row in other.rows:
            rest = row[:right_place] + row[right_place + 1 :]
            found.setdefault(row[right_place], []).append(rest)
        names = [name for name in other.columns if name != right]
        columns = [*self.columns, *(f"{n}_2" if n in self.columns else n for n in names)]
        rows = []
        for row in self.rows:
            key = row[left_place]
            matches = found.get(key, []) if key is not None else []
            if not matches and how == "left":
                matches = [(None,) * len(names)]
            rows += [row + match for match in matches]
        return Table(columns, rows)
