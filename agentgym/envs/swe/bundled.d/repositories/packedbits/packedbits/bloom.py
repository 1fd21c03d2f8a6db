"""Bloom filters: sets that may err, but only by claiming to contain too much.

B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors" (1970). The hash
functions are made of two, after Kirsch and Mitzenmacher (2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from packedbits.bitset import BitSet
from packedbits.errors import CorruptData
from packedbits.varint import read_varint, write_varint

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
MASK = 0xFFFFFFFFFFFFFFFF


def fnv1a(data: bytes, start: int = FNV_OFFSET) -> int:
    """Hash bytes to 64 bits by FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value = start
    for byte in data:
        value = (value ^ byte) * FNV_PRIME & MASK
    return value


class BloomFilter:
    """A set of texts that answers either "no" or "perhaps".

    Args:
        size: Number of bits.
        hashes: Number of bits that each text sets.
    """

    def __init__(self, size: int, hashes: int) -> None:
        if size < 1 or hashes < 1:
            raise ValueError(f"size and hashes are at least 1, got {size} and {hashes}")
        self.size = size
        self.hashes = hashes
        self.bits = BitSet()

    @classmethod
    def for_items(cls, count: int, error: float = 0.01) -> BloomFilter:
        """Choose size and number of hashes for a number of texts.

        Args:
            count: How many texts will be added.
            error: The share of other texts that may be taken for contained.
        """
        if count < 1 or not 0 < error < 1:
            raise ValueError(f"count is at least 1 and error between 0 and 1: {count}, {error}")
        size = math.ceil(-count * math.log(error) / math.log(2) ** 2)
        return cls(size, max(1, round(size / count * math.log(2))))

    def add(self, text: str) -> bool:
        """Add a text; return whether it was surely not there."""
        new = text not in self
        for place in self._places(text):
            self.bits.add(place)
        return new

    def __contains__(self, text: str) -> bool:
        """Whether a text is perhaps contained; False is certain."""
        return all(place in self.bits for place in self._places(text))

    def _places(self, text: str) -> Iterator[int]:
        data = text.encode()
        first = fnv1a(data)
        second = fnv1a(data, first) | 1
        for number in range(self.hashes):
            yield (first + number * second) % self.size

    @property
    def fill(self) -> float:
        """The share of bits that are set."""
        return len(self.bits) / self.size

    def error(self) -> float:
        """Estimate the share of other texts that are now taken for contained."""
        return self.fill**self.hashes

    def estimate(self) -> float:
        """Estimate how many different texts were added; infinite if every bit is set."""
        if self.fill == 1:
            return math.inf
        return -self.size / self.hashes * math.log(1 - self.fill)

    def __or__(self, other: BloomFilter) -> BloomFilter:
        """Make the filter of the texts of both, which must have the same shape."""
        if (self.size, self.hashes) != (other.size, other.hashes):
            raise ValueError("filters of different shapes cannot be united")
        result = BloomFilter(self.size, self.hashes)
        result.bits = self.bits | other.bits
        return result

    def to_bytes(self) -> bytes:
        """Encode the filter."""
        return write_varint(self.size) + write_varint(self.hashes) + self.bits.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> BloomFilter:
        """Decode a filter."""
        size, offset = read_varint(data)
        hashes, offset = read_varint(data, offset)
        bits = BitSet.from_bytes(data[offset:])
        if (bits.largest() or 0) >= size or hashes == 0:
            raise CorruptData("the filter has bits beyond its size")
        result = cls(size, hashes)
        result.bits = bits
        return result
