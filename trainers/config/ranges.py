"""Ranges of numbers as part of their types: ``groups: Count = 16``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

from agentgym.errors import ConfigurationError


@dataclass(frozen=True)
class Range:
    """What a number may be; always finite."""

    least: float
    """Lower bound."""
    open: bool = False
    """Whether the lower bound itself is excluded."""
    below: float = math.inf
    """Upper bound, which is excluded."""

    def __contains__(self, value: float) -> bool:
        """Return whether a number lies in the range."""
        return (value > self.least if self.open else value >= self.least) and value < self.below

    def __str__(self) -> str:
        """Return the range as it stands in a message."""
        text = f"a number above {self.least:g}" if self.open else f"at least {self.least:g}"
        return text if math.isinf(self.below) else f"{text} and below {self.below:g}"


Count = Annotated[int, Range(1)]
"""A whole number from 1."""
Whole = Annotated[int, Range(0)]
"""A whole number from 0."""
Positive = Annotated[float, Range(0, open=True)]
"""A number above 0."""
NotNegative = Annotated[float, Range(0)]
"""A number from 0."""
Share = Annotated[float, Range(0, below=1)]
"""A number from 0 to below 1."""


def check_ranges(settings: Any, prefix: str = "--") -> None:
    """Check every number of a dataclass, and of the dataclasses in it, against its type's range.

    Args:
        settings: The dataclass.
        prefix: What stands before a field's name on the command line.

    Raises:
        ConfigurationError: A number is out of its range; the message names the flag.
    """
    for flag, value, allowed in _numbers(settings, prefix):
        if value is not None and value not in allowed:
            raise ConfigurationError(f"expected {flag} to be {allowed}, got {value}")


def ranges_of(settings: Any, prefix: str = "--") -> dict[str, Range]:
    """Return the range of every number of a dataclass that has one, by flag.

    Args:
        settings: The dataclass.
        prefix: What stands before a field's name on the command line.
    """
    return {flag: allowed for flag, _, allowed in _numbers(settings, prefix)}


def _numbers(settings: Any, prefix: str) -> Iterator[tuple[str, Any, Range]]:
    """Yield flag, value and range of every number that has a range."""
    hints = get_type_hints(type(settings), include_extras=True)
    for item in dataclasses.fields(settings):
        value = getattr(settings, item.name)
        flag = prefix + item.name.replace("_", "-")
        if dataclasses.is_dataclass(value):
            yield from _numbers(value, f"{flag}.")
        for allowed in _ranges(hints[item.name]):
            yield flag, value, allowed


def _ranges(hint: Any) -> Iterator[Range]:
    """Yield the ranges in a type, also in one member of a union."""
    for part in get_args(hint):
        if isinstance(part, Range):
            yield part
        else:
            yield from _ranges(part)
