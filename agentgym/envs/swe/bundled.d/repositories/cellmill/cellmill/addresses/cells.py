"""Addresses of cells, such as ``B7`` and ``$B$7``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from cellmill.errors import AddressError

MOST_ROWS = 9_999
"""The last row of a sheet."""
MOST_COLUMNS = 702
"""The last column of a sheet, ``ZZ``."""
CELL = re.compile(r"(\$?)([A-Za-z]{1,3})(\$?)([0-9]{1,7})")
"""A cell as it is written."""


def column_number(letters: str) -> int:
    """Return the number of a column, 1 for ``A``.

    Raises:
        AddressError: There is no such column.
    """
    if not re.fullmatch(r"[A-Za-z]{1,3}", letters):
        raise AddressError(f"expected the letters of a column, got {letters!r}")
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    if number > MOST_COLUMNS:
        raise AddressError(f"the last column is {column_letters(MOST_COLUMNS)}, got {letters!r}")
    return number


def column_letters(number: int) -> str:
    """Return the letters of a column, ``A`` for 1.

    Raises:
        AddressError: There is no such column.
    """
    if not 1 <= number <= MOST_COLUMNS:
        raise AddressError(f"expected a column from 1 to {MOST_COLUMNS}, got {number}")
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


@dataclass(frozen=True, order=True)
class CellAddress:
    """A cell of a sheet; rows and columns are counted from 1.

    Attributes:
        row: Its row.
        column: Its column.
        row_fixed: Whether its row stays when its formula is copied (``B$7``).
        column_fixed: Whether its column does (``$B7``).
    """

    row: int
    column: int
    row_fixed: bool = False
    column_fixed: bool = False

    def __post_init__(self) -> None:
        """Refuse a cell that no sheet has."""
        if not is_inside(self.row, self.column):
            raise AddressError(f"no cell in row {self.row}, column {self.column}")

    def __str__(self) -> str:
        """Return the address as it is written in formulas."""
        column = "$" * self.column_fixed + column_letters(self.column)
        return f"{column}{'$' * self.row_fixed}{self.row}"

    @classmethod
    def read(cls, text: str) -> CellAddress:
        """Read an address.

        Raises:
            AddressError: The text is none.
        """
        match = CELL.fullmatch(text.strip())
        if match is None:
            raise AddressError(f"expected a cell such as B7, got {text!r}")
        column_mark, letters, row_mark, digits = match.groups()
        row = int(digits)
        if not 1 <= row <= MOST_ROWS:
            raise AddressError(f"expected a row from 1 to {MOST_ROWS}, got {text!r}")
        return cls(row, column_number(letters), bool(row_mark), bool(column_mark))

    @property
    def plain(self) -> CellAddress:
        """The same cell with nothing fixed."""
        return CellAddress(self.row, self.column)

    def moved(self, rows: int, columns: int) -> CellAddress | None:
        """Return the address some rows further down and columns to the right.

        What is fixed stays.

        Returns:
            The new address, or None if it lies outside of the sheet.
        """
        row = self.row if self.row_fixed else self.row + rows
        column = self.column if self.column_fixed else self.column + columns
        if not is_inside(row, column):
            return None
        return replace(self, row=row, column=column)


def is_inside(row: int, column: int) -> bool:
    """Say whether a sheet has such a cell."""
    return 1 <= row <= MOST_ROWS and 1 <= column <= MOST_COLUMNS
