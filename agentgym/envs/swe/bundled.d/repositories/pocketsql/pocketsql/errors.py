"""What can go wrong."""

from __future__ import annotations


class SqlError(ValueError):
    """The root of all errors of this package."""


class ParseError(SqlError):
    """A text is no SQL.

    Attributes:
        line: The line, counted from 1.
        column: The character in this line, counted from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.line = line
        self.column = column


class SchemaError(SqlError):
    """A table, a column or a function is not there, is there twice, or is used wrongly."""


class DataError(SqlError):
    """A value has the wrong type or is out of range."""


class ConstraintError(SqlError):
    """A change would break what a table promises."""
