"""Marks in the types of a command's arguments, such as ``env: Positional[str]``."""

from typing import Annotated, TypeVar

__all__ = ["Append", "Positional", "Suppress"]

Value = TypeVar("Value")
Positional = Annotated[Value, "positional"]
"""An argument without a flag."""
Suppress = Annotated[Value, "suppress"]
"""A field that the command line does not set and the help does not show."""
Append = Annotated[Value, "append"]
"""A list whose flag is typed once for each value."""
