"""The cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from agecache.clock import Clock
from agecache.stats import Stats

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Reason(Enum):
    """Why an entry was removed."""

    CAPACITY = "capacity"
    EXPIRED = "expired"
    REPLACED = "replaced"
    REMOVED = "removed"


@dataclass
class _Entry(Generic[V]):
    """A value, its weight and when it expires."""

    value: V
    weight: int
    expires: float | None


class AgeCache(Generic[K, V]):
    """A mapping that forgets the least recently used and the old.

    Args:
        capacity: The largest sum of the weights of all entries.
        max_age: How many seconds an entry lives; None for ever. At exactly this age it is gone.
        clock: Where the time comes from.
        sliding: Whether reading an entry makes it young again.
        on_remove: Is called with key, value and reason for every entry that is removed.

    Raises:
        ValueError: The capacity is less than 1, or the age is not positive.
    """

    def __init__(
        self,
        capacity: int,
        max_age: float | None = None,
        clock: Clock = lambda: 0.0,
        sliding: bool = False,
        on_remove: Callable[[K, V, Reason], None] | None = None,
    ) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        _check_age(max_age)
        self.capacity = capacity
        self.max_age = max_age
        self.clock = clock
        self.sliding = sliding
        self.on_remove = on_remove
        self.stats = Stats()
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._ages: dict[K, float] = {}
        self._weight = 0

    @property
    def weight(self) -> int:
        """The sum of the weights of the entries, those that have just expired included."""
        return self._weight

    def put(self, key: K, value: V, weight: int = 1, max_age: float | None = None) -> bool:
        """Store a value; what was used least recently gives way.

        Args:
            key: Its key.
            value: The value.
            weight: How much of the capacity it takes.
            max_age: How many seconds it lives, if not as long as the others.

        Returns:
            Whether it was stored; a value that is heavier than the capacity is not.

        Raises:
            ValueError: The weight is less than 1, or the age is not positive.
        """
        if weight < 1:
            raise ValueError(f"weight must be at least 1, got {weight}")
        _check_age(max_age)
        if key in self._entries:
            self._drop(key, Reason.REPLACED)
        if weight > self.capacity:
            return False
        if self._weight + weight > self.capacity:
            self.expire()
        while self._weight + weight > self.capacity:
            self._drop(next(iter(self._entries)), Reason.CAPACITY)
            self.stats.evictions += 1
        age = self.max_age if max_age is None else max_age
        expires = None
        if age is not None:
            self._ages[key] = age
            expires = self.clock() + age
        self._entries[key] = _Entry(value, weight, expires)
        self._weight += weight
        return True

    def get(self, key: K, default: V | None = None) -> V | None:
        """Return a value and count it as used, or return the default."""
        entry = self._live(key)
        if entry is None:
            self.stats.misses += 1
            return default
        self.stats.hits += 1
        self._entries.move_to_end(key)
        if self.sliding and key in self._ages:
            entry.expires = self.clock() + self._ages[key]
        return entry.value

    def peek(self, key: K, default: V | None = None) -> V | None:
        """Return a value without counting it as used."""
        entry = self._live(key)
        return default if entry is None else entry.value

    def remaining(self, key: K) -> float | None:
        """Return how many seconds an entry will live on; None if for ever.

        Raises:
            KeyError: There is no such entry.
        """
        entry = self._live(key)
        if entry is None:
            raise KeyError(key)
        return None if entry.expires is None else entry.expires - self.clock()

    def remove(self, key: K) -> bool:
        """Forget an entry and say whether there was one."""
        if self._live(key) is None:
            return False
        self._drop(key, Reason.REMOVED)
        return True

    def expire(self) -> int:
        """Forget all entries that are too old and return their number."""
        now = self.clock()
        old = [key for key, entry in self._entries.items() if _is_old(entry, now)]
        for key in old:
            self._drop(key, Reason.EXPIRED)
        self.stats.expirations += len(old)
        return len(old)

    def clear(self) -> None:
        """Forget all entries."""
        for key in list(self._entries):
            self._drop(key, Reason.REMOVED)

    def __contains__(self, key: K) -> bool:
        """Say whether there is an entry that is not too old."""
        return self._live(key) is not None

    def __len__(self) -> int:
        """Return the number of entries that are not too old."""
        self.expire()
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        """Yield the keys, the least recently used first."""
        self.expire()
        return iter(list(self._entries))

    def _live(self, key: K) -> _Entry[V] | None:
        """Return an entry; one that is too old is forgotten."""
        entry = self._entries.get(key)
        if entry is not None and _is_old(entry, self.clock()):
            self._drop(key, Reason.EXPIRED)
            self.stats.expirations += 1
            return None
        return entry

    def _drop(self, key: K, reason: Reason) -> None:
        """Take an entry out."""
        entry = self._entries.pop(key)
        self._ages.pop(key, None)
        self._weight -= entry.weight
        if self.on_remove is not None:
            self.on_remove(key, entry.value, reason)


def _is_old(entry: _Entry[V], now: float) -> bool:
    """Say whether an entry has expired."""
    return entry.expires is not None and now >= entry.expires


def _check_age(age: float | None) -> None:
    """Refuse an age that lets nothing live."""
    if age is not None and age <= 0:
        raise ValueError(f"max_age must be positive, got {age}")
