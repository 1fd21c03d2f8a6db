"""Where rows or columns go when others are put in or taken out.

Both are called lines here: what holds for rows holds for columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellmill.errors import SheetError


@dataclass(frozen=True)
class LineChange:
    """Lines that are put in or taken out.

    Attributes:
        first: The first line that is new or gone.
        count: How many; negative if they are taken out.
        most: The last line that a sheet has.
    """

    first: int
    count: int
    most: int

    def __post_init__(self) -> None:
        """Refuse lines that no sheet has."""
        if not 1 <= self.first <= self.most:
            raise SheetError(f"expected a line from 1 to {self.most}, got {self.first}")
        if self.count == 0:
            raise SheetError("expected a number of lines other than 0")

    def place(self, line: int) -> int | None:
        """Return where a line goes, or None if it is taken out or pushed off the sheet."""
        if line < self.first:
            return line
        if self.count < 0 and line < self.first - self.count:
            return None
        moved = line + self.count
        return moved if moved <= self.most else None

    def span(self, first: int, last: int) -> tuple[int, int] | None:
        """Return where a span of lines goes, or None if nothing is left of it.

        A span grows with lines that are put into it and shrinks with those that are taken out.
        """
        start, end = self.place(first), self.place(last)
        if self.count > 0:
            if start is None:
                return None
            return start, self.most if end is None else end
        if start is None:
            start = self.first
        if end is None:
            end = self.first - 1
        return (start, end) if start <= end else None
