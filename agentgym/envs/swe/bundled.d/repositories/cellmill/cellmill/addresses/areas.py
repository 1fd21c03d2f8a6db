"""Areas, such as ``A1:C3``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cellmill.addresses.cells import CellAddress
from cellmill.errors import AddressError


@dataclass(frozen=True)
class Area:
    """A rectangle of cells, by its corners.

    Attributes:
        top: Its first row.
        left: Its first column.
        bottom: Its last row.
        right: Its last column.
    """

    top: int
    left: int
    bottom: int
    right: int

    def __post_init__(self) -> None:
        """Refuse corners that are the wrong way round."""
        if self.top > self.bottom or self.left > self.right:
            raise AddressError(f"the corners of {self} are the wrong way round")

    def __str__(self) -> str:
        """Return the area as it is written, one cell without a colon."""
        first = CellAddress(self.top, self.left)
        last = CellAddress(self.bottom, self.right)
        return str(first) if first == last else f"{first}:{last}"

    @classmethod
    def read(cls, text: str) -> Area:
        """Read an area or a cell; the corners may come in any order.

        Raises:
            AddressError: The text is neither.
        """
        parts = text.split(":")
        if len(parts) > 2:
            raise AddressError(f"expected an area such as A1:C3, got {text!r}")
        return cls.between(CellAddress.read(parts[0]), CellAddress.read(parts[-1]))

    @classmethod
    def between(cls, one: CellAddress, other: CellAddress) -> Area:
        """Return the smallest area that holds two cells."""
        rows = sorted((one.row, other.row))
        columns = sorted((one.column, other.column))
        return cls(rows[0], columns[0], rows[1], columns[1])

    @property
    def height(self) -> int:
        """The number of rows."""
        return self.bottom - self.top + 1

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.right - self.left + 1

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.height * self.width

    @property
    def corner(self) -> CellAddress:
        """The cell at the top left."""
        return CellAddress(self.top, self.left)

    def __contains__(self, cell: CellAddress) -> bool:
        """Say whether a cell lies inside."""
        return self.top <= cell.row <= self.bottom and self.left <= cell.column <= self.right

    def __iter__(self) -> Iterator[CellAddress]:
        """Yield the cells, row by row."""
        for row in range(self.top, self.bottom + 1):
            for column in range(self.left, self.right + 1):
                yield CellAddress(row, column)

    def overlap(self, other: Area) -> Area | None:
        """Return what two areas share, or None."""
        top, left = max(self.top, other.top), max(self.left, other.left)
        bottom, right = min(self.bottom, other.bottom), min(self.right, other.right)
        if top > bottom or left > right:
            return None
        return Area(top, left, bottom, right)
