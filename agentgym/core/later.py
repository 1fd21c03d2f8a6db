"""Values that are made when somebody first reads them: `Later`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

Value = TypeVar("Value")
MadeValue = TypeVar("MadeValue", covariant=True)


class Later(Generic[MadeValue]):
    """A value of a state that costs something and that few callers read.

    It is made at most once. It may be read several turns later, so it depends only on
    arguments that never change: the number of a turn or an immutable state, but not a session.
    A pickle or a deep copy of it is the plain value.

    Args:
        make: Makes the value.
        *arguments: Arguments of ``make``.
    """

    __slots__ = ("_arguments", "_make", "_value")

    def __init__(self, make: Callable[..., MadeValue], *arguments: Any) -> None:
        self._make: Callable[..., MadeValue] | None = make
        self._arguments = arguments

    def read(self) -> MadeValue:
        """Return the value, and make it if nobody has read it before."""
        if self._make is not None:
            self._value = self._make(*self._arguments)
            self._make, self._arguments = None, ()
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the plain value."""
        return read, (self.read(),)


MaybeLater: TypeAlias = Value | Later[Value]
"""A value, or one that is made when it is read."""


def read(value: MaybeLater[Value]) -> Value:
    """Return a value that may be made later."""
    return value.read() if isinstance(value, Later) else value
