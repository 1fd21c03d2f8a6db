"""Seeded draws that are equal on every machine and version of Python.

Of :mod:`random`, only ``Random(int).random()`` is promised to stay the same between versions of
Python, so every choice is made from it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class NamedDraws:
    """A stream of draws that its name alone decides."""

    def __init__(self, name: str) -> None:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._uniform = random.Random(seed).random

    def below(self, bound: int) -> int:
        """Return an integer from 0 to ``bound`` - 1; ``bound`` is far below 2**53."""
        return int(self._uniform() * bound)

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[Item]) -> Item:
        """Return one of ``items``, which are not empty."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return ``items`` in random order (Fisher-Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            swap_index = self.below(last + 1)
            order[last], order[swap_index] = order[swap_index], order[last]
        return order
