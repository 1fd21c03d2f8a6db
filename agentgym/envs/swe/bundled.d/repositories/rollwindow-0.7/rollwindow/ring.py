"""A list of fixed capacity that forgets its oldest values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Overflow(Exception):
    """A strict ring is full."""


class Ring(Generic[T]):
    """The last values that were pushed.

    Args:
        capacity: How many values it holds.
        values: Pushed one after the other.
        strict: Whether pushing to a full ring is an error, instead of forgetting the oldest value.
    """

    def __init__(self, capacity: int, values: Iterable[T] = (), strict: bool = False) -> None:
        if capacity < 1:
            raise ValueError(f"capacity is at least 1, got {capacity}")
        self.capacity = capacity
        self.strict = strict
        self._slots: list[T | None] = [None] * capacity
        self._start = 0
        self._length = 0
        self.extend(values)

    @property
    def full(self) -> bool:
        """Whether the next value pushes out another one."""
        return self._length == self.capacity

    def push(self, value: T) -> T | None:
        """Put a value at the end; return the one that is forgotten, if there is one."""
        if not self.full:
            self._slots[(self._start + self._length) % self.capacity] = value
            self._length += 1
            return None
        if self.strict:
            raise Overflow(f"all {self.capacity} places are taken")
        oldest = self._slots[self._start]
        self._slots[self._start] = value
        self._start = (self._start + 1) % self.capacity
        return oldest

    def extend(self, values: Iterable[T]) -> list[T]:
        """Put values at the end, one after the other; return those that are forgotten."""
        forgotten = []
        for value in values:
            full = self.full
            oldest = self.push(value)
            if full:
                forgotten.append(oldest)
        return forgotten  # type: ignore[return-value]

    def pop(self) -> T:
        """Take the newest value out."""
        value = self[-1]
        self._length -= 1
        self._slots[(self._start + self._length) % self.capacity] = None
        return value

    def popleft(self) -> T:
        """Take the oldest value out."""
        value = self[0]
        self._slots[self._start] = None
        self._start = (self._start + 1) % self.capacity
        self._length -= 1
        return value

    def clear(self) -> None:
        """Forget all values."""
        self._slots = [None] * self.capacity
        self._start = self._length = 0

    def resize(self, capacity: int) -> None:
        """Change the capacity; if it is too small for all values the newest are kept."""
        if capacity < 1:
            raise ValueError(f"capacity is at least 1, got {capacity}")
        kept = self.latest(capacity)
        self._slots = [*kept, *[None] * (capacity - len(kept))]
        self.capacity = capacity
        self._start, self._length = 0, len(kept)

    def latest(self, count: int) -> list[T]:
        """List the newest values, oldest first; all if there are fewer."""
        if count < 0:
            raise ValueError(f"count cannot be negative, got {count}")
        values = self._values()
        return values[max(len(values) - count, 0) :]

    def _values(self) -> list[T]:
        """List the values as they lie, turned so that the oldest comes first."""
        turned = [*self._slots[self._start :], *self._slots[: self._start]]
        return turned[: self._length]  # type: ignore[return-value]

    def __len__(self) -> int:
        """How many values there are."""
        return self._length

    def __iter__(self) -> Iterator[T]:
        """Go through the values, oldest first."""
        yield from self._values()

    def __getitem__(self, place: int) -> T:
        """Give a value by its place; 0 is the oldest and -1 the newest."""
        if not -self._length <= place < self._length:
            raise IndexError(f"there is no place {place} among {self._length} values")
        if place < 0:
            place += self._length
        return self._slots[(self._start + place) % self.capacity]  # type: ignore[return-value]

    def __repr__(self) -> str:
        """Show capacity and values."""
        return f"Ring({self.capacity}, {self._values()})"
