"""Integer randomness that is the same on every machine, process and Python version."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_WORDS = struct.Struct("<16I")


class Stream:
    """A stream of integer draws that its key alone decides.

    Words of 32 bits come from BLAKE2b in counter mode, so no floating point, no global generator
    and no ``hash()`` is involved. A draw below ``n`` is a multiply and shift; for the small ``n``
    of a vocabulary its bias is below ``n / 2**32``.

    Args:
        *key: Strings and integers that name the stream.
    """

    __slots__ = ("_block", "_key", "_position", "_words")

    def __init__(self, *key: str | int) -> None:
        text = "\x1f".join(map(str, key))
        self._key = hashlib.blake2b(text.encode(), digest_size=32).digest()
        self._block = 0
        self._position = 16
        self._words: tuple[int, ...] = ()

    def below(self, n: int) -> int:
        """Draw an integer from 0 to ``n - 1``."""
        if self._position == 16:
            block = self._block.to_bytes(8, "little")
            self._words = _WORDS.unpack(hashlib.blake2b(block, key=self._key).digest())
            self._block += 1
            self._position = 0
        word = self._words[self._position]
        self._position += 1
        return (word * n) >> 32

    def between(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def percent(self, share: int) -> bool:
        """Return True in ``share`` of 100 draws."""
        return self.below(100) < share

    def choice(self, items: Sequence[T]) -> T:
        """Draw one item."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw ``count`` items without replacement, in random order."""
        pool = list(items)
        size = len(pool)
        for position in range(count):
            swap_index = position + self.below(size - position)
            pool[position], pool[swap_index] = pool[swap_index], pool[position]
        return pool[:count]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return self.sample(items, len(items))
