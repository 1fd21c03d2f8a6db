"""Splits: which goals are for training, which for validation and which for the test."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from agentgym.envs.webshop.pools import GoalPool

TEST_GOALS, VALID_GOALS = 500, 1000
TEST_SHARE, VALID_SHARE = 8, 4
OFFICIAL_TEST, OFFICIAL_VALID = 500, 1500


class Split(Protocol):
    """The goals of one split, as pairs of unit and number."""

    def __len__(self) -> int:
        """Number of goals."""

    def place(self, index: int) -> tuple[int, int]:
        """Return the goal at an index."""

    def index(self, unit: int, number: int) -> int | None:
        """Return the index of a goal, or None if it is not in this split."""


class UnitSplit:
    """The goals of some units, in an order that scatters the goals of a unit.

    Args:
        units: The units.
        counts: Number of goals of each.
        limit: Most goals to use; those of the last unit that exceed it are left out.
    """

    def __init__(self, units: Sequence[int], counts: Sequence[int], limit: int | None) -> None:
        self._units = units
        self._ends = list(accumulate(counts))
        total = self._ends[-1] if self._ends else 0
        self._size = total if limit is None else min(limit, total)
        self._ranks = {unit: rank for rank, unit in enumerate(units)}
        self._step = max(1, self._size * 618 // 1000)
        while self._size and math.gcd(self._step, self._size) != 1:
            self._step += 1

    def __len__(self) -> int:
        """Number of goals."""
        return self._size

    def place(self, index: int) -> tuple[int, int]:
        """Return the goal at an index."""
        position = index * self._step % self._size
        rank = bisect_right(self._ends, position)
        return self._units[rank], position - (self._ends[rank - 1] if rank else 0)

    def index(self, unit: int, number: int) -> int | None:
        """Return the index of a goal, or None if it is not in this split."""
        rank = self._ranks.get(unit)
        if rank is None:
            return None
        position = (self._ends[rank - 1] if rank else 0) + number
        if position >= self._size:
            return None
        return position * pow(self._step, -1, self._size) % self._size


class ListSplit:
    """Goals in a given order.

    Args:
        pairs: The goals.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self._pairs = pairs
        self._indices = {pair: index for index, pair in enumerate(pairs)}

    def __len__(self) -> int:
        """Number of goals."""
        return len(self._pairs)

    def place(self, index: int) -> tuple[int, int]:
        """Return the goal at an index."""
        return self._pairs[index]

    def index(self, unit: int, number: int) -> int | None:
        """Return the index of a goal, or None if it is not in this split."""
        return self._indices.get((unit, number))


def product_splits(pool: GoalPool) -> dict[str, Split]:
    """Fill test, then valid, then train with whole units in the order of their hashes.

    Args:
        pool: The goals.

    Returns:
        The splits by name; of ``G`` goals, ``test`` holds ``min(500, G // 8)`` and ``valid``
        ``min(1000, G // 4)``.
    """
    names = pool.units()
    order = sorted(range(len(names)), key=lambda unit: _split_hash(names[unit]))
    counts = [pool.count(unit) for unit in order]
    ends = list(accumulate(counts))
    total = ends[-1] if ends else 0
    test = min(TEST_GOALS, total // TEST_SHARE)
    valid = min(VALID_GOALS, total // VALID_SHARE)
    first = bisect_left(ends, test) + 1 if test else 0
    used = ends[first - 1] if first else 0
    second = bisect_left(ends, used + valid) + 1 if valid else first
    return {
        "train": UnitSplit(order[second:], counts[second:], None),
        "valid": UnitSplit(order[first:second], counts[first:second], valid),
        "test": UnitSplit(order[:first], counts[:first], test),
    }


def _split_hash(name: str) -> bytes:
    """Return the key by which units are ordered."""
    return hashlib.blake2b(name.encode(), key=b"agentgym/webshop/split", digest_size=16).digest()


def official_splits(order: Sequence[tuple[int, int]]) -> dict[str, Split]:
    """Cut the official order at 500 and 1,500.

    Args:
        order: All goals in the original's order.

    Returns:
        The splits by name; on small data some may be empty.
    """
    return {
        "train": ListSplit(order[OFFICIAL_VALID:]),
        "valid": ListSplit(order[OFFICIAL_TEST:OFFICIAL_VALID]),
        "test": ListSplit(order[:OFFICIAL_TEST]),
    }
