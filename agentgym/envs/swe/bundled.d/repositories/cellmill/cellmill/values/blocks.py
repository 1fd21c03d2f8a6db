"""The values of an area, as functions get them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Union

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import CellAddress
from cellmill.values.kinds import ErrorValue, Failed, Value


class Block:
    """The values of an area; rows and columns are counted from 0.

    Args:
        area: The area.
        filled: Its cells that are not empty, with their values, row by row.
    """

    def __init__(self, area: Area, filled: Iterable[tuple[CellAddress, Value]]) -> None:
        self.height = area.height
        self.width = area.width
        self._values = {
            (cell.row - area.top, cell.column - area.left): value for cell, value in filled
        }

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.height * self.width

    def at(self, row: int, column: int) -> Value:
        """Return the value of a cell.

        Raises:
            Failed: It lies outside.
        """
        if not (0 <= row < self.height and 0 <= column < self.width):
            raise Failed(ErrorValue.REF)
        return self._values.get((row, column))

    def filled(self) -> Iterator[tuple[tuple[int, int], Value]]:
        """Yield row, column and value of the cells that are not empty, row by row."""
        yield from self._values.items()

    def values(self) -> Iterator[Value]:
        """Yield the values of the cells that are not empty, row by row."""
        yield from self._values.values()

    def line(self) -> list[Value]:
        """Return the values of a single row or column, up to the last that is not empty.

        Raises:
            Failed: There are several rows and several columns.
        """
        if self.height > 1 and self.width > 1:
            raise Failed(ErrorValue.VALUE)
        last = max((row + column for row, column in self._values), default=-1)
        upright = self.height > 1
        return [self.at(*((n, 0) if upright else (0, n))) for n in range(last + 1)]


Argument = Union[Value, Block]  # noqa: UP007
"""What a function may be given."""


def scalar(argument: Argument) -> Value:
    """Return an argument as one value.

    Raises:
        Failed: It is an area of several cells.
    """
    if not isinstance(argument, Block):
        return argument
    if argument.size > 1:
        raise Failed(ErrorValue.VALUE)
    return argument.at(0, 0)


def as_block(argument: Argument) -> Block:
    """Return an argument as an area; a value becomes an area of one cell."""
    if isinstance(argument, Block):
        return argument
    cell = CellAddress(1, 1)
    return Block(Area(1, 1, 1, 1), [] if argument is None else [(cell, argument)])
