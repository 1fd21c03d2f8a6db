"""Lazy values, computed when they are first read: `Later`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

Value = TypeVar("Value")
MadeValue = TypeVar("MadeValue", covariant=True)


class Later(Generic[MadeValue]):
    """A lazy value, for facts about a state that are expensive and rarely read.

    It is computed at most once, possibly several turns later. So it must depend only on arguments
    that never change, such as the number of a turn or an immutable state, but not on a session.
    Pickling or deep-copying it gives the plain value.

    Args:
        make: Computes the value.
        *arguments: Arguments of ``make``.
    """

    __slots__ = ("_arguments", "_make", "_value")

    def __init__(self, make: Callable[..., MadeValue], *arguments: Any) -> None:
        self._make: Callable[..., MadeValue] | None = make
        self._arguments = arguments

    def read(self) -> MadeValue:
        """Return the value, computed at the first call."""
        if self._make is not None:
            self._value = self._make(*self._arguments)
            self._make, self._arguments = None, ()
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the plain value."""
        return read, (self.read(),)


MaybeLater: TypeAlias = Value | Later[Value]
"""A value, or a lazy value."""


def read(value: MaybeLater[Value]) -> Value:
    """Return a value, computed now if it is lazy."""
    return value.read() if isinstance(value, Later) else value
