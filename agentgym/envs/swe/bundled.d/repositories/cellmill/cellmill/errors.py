"""What can be wrong with what a caller gives."""

from __future__ import annotations


class SpreadsheetError(ValueError):
    """The root of all errors of this package."""


class AddressError(SpreadsheetError):
    """A text names no cell or area."""


class FormulaError(SpreadsheetError):
    """A text is no formula.

    Attributes:
        position: At which character, counted from 0, it goes wrong.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} at character {position + 1}")
        self.position = position


class SheetError(SpreadsheetError):
    """A sheet, a name or a change of a sheet is not possible."""
