"""What a cell can hold."""

from __future__ import annotations

from enum import Enum
from typing import Union


class ErrorValue(Enum):
    """An error as the value of a cell."""

    CYCLE = "#CYCLE!"
    DIV0 = "#DIV/0!"
    NA = "#N/A"
    NAME = "#NAME?"
    NUM = "#NUM!"
    REF = "#REF!"
    VALUE = "#VALUE!"

    def __str__(self) -> str:
        """Return the error as it is shown."""
        return self.value


Value = Union[None, bool, int, float, str, ErrorValue]  # noqa: UP007
"""A value: None is that of an empty cell."""


class Failed(Exception):
    """Raised inside of an evaluation, to make an error the result.

    Attributes:
        error: The error.
    """

    def __init__(self, error: ErrorValue) -> None:
        super().__init__(error.value)
        self.error = error


def whole(number: float) -> float:
    """Return an int where a float has one, else the float."""
    if abs(number) < 1e15 and number == int(number):
        return int(number)
    return number
