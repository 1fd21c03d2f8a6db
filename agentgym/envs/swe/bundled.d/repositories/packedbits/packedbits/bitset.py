"""Sets of small whole numbers, one bit for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packedbits.varint import read_varint, write_varint


class BitSet:
    """A set of whole numbers from 0 on, kept in ascending order.

    Args:
        numbers: What is in it.
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._bits = 0
        for number in numbers:
            self.add(number)

    @classmethod
    def from_range(cls, start: int, stop: int) -> BitSet:
        """Make the set of the numbers from ``start`` up to, but not including, ``stop``."""
        result = cls()
        if stop > start:
            _check(start)
            result._bits = (1 << stop) - (1 << start)
        return result

    @classmethod
    def _of(cls, bits: int) -> BitSet:
        result = cls()
        result._bits = bits
        return result

    def add(self, number: int) -> bool:
        """Put a number in; return whether it was not there."""
        _check(number)
        new = number not in self
        self._bits |= 1 << number
        return new

    def discard(self, number: int) -> bool:
        """Take a number out; return whether it was there."""
        present = number in self
        if present:
            self._bits ^= 1 << number
        return present

    def flip(self, number: int) -> None:
        """Put a number in if it is not there, and out if it is."""
        _check(number)
        self._bits ^= 1 << number

    def __contains__(self, number: int) -> bool:
        """Whether a number is in the set."""
        return number >= 0 and self._bits >> number & 1 == 1

    def __len__(self) -> int:
        """How many numbers are in the set."""
        return bin(self._bits).count("1")

    def __iter__(self) -> Iterator[int]:
        """Go through the numbers in ascending order."""
        bits = self._bits
        while bits:
            lowest = bits & -bits
            yield lowest.bit_length() - 1
            bits ^= lowest

    def __eq__(self, other: object) -> bool:
        """Whether the same numbers are in both sets."""
        return isinstance(other, BitSet) and self._bits == other._bits

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: BitSet) -> BitSet:
        """Numbers that are in either set."""
        return self._of(self._bits | other._bits)

    def __and__(self, other: BitSet) -> BitSet:
        """Numbers that are in both sets."""
        return self._of(self._bits & other._bits)

    def __sub__(self, other: BitSet) -> BitSet:
        """Numbers that are in this set only."""
        return self._of(self._bits & ~other._bits)

    def __xor__(self, other: BitSet) -> BitSet:
        """Numbers that are in exactly one of the sets."""
        return self._of(self._bits ^ other._bits)

    def __le__(self, other: BitSet) -> bool:
        """Whether the other set has all numbers of this one."""
        return self._bits & ~other._bits == 0

    def __repr__(self) -> str:
        """Show the numbers."""
        return f"BitSet({list(self)})"

    def isdisjoint(self, other: BitSet) -> bool:
        """Tell whether no number is in both sets."""
        return self._bits & other._bits == 0

    def smallest(self) -> int | None:
        """Give the smallest number; ``None`` if the set is empty."""
        return next(iter(self), None)

    def largest(self) -> int | None:
        """Give the largest number; ``None`` if the set is empty."""
        return self._bits.bit_length() - 1 if self._bits else None

    def next_from(self, start: int) -> int | None:
        """Find the first number that is ``start`` or greater."""
        rest = self._bits >> max(start, 0)
        if rest == 0:
            return None
        return max(start, 0) + (rest & -rest).bit_length() - 1

    def first_missing(self) -> int:
        """Find the smallest number that is not in the set."""
        return (~self._bits & (self._bits + 1)).bit_length() - 1

    def rank(self, number: int) -> int:
        """Count the numbers that are less than a number."""
        return bin(self._bits & ((1 << max(number, 0)) - 1)).count("1")

    def select(self, place: int) -> int:
        """Give the number at a place in ascending order, counted from 0."""
        if not 0 <= place < len(self):
            raise IndexError(f"there is no place {place} in a set of {len(self)}")
        for index, number in enumerate(self):
            if index == place:
                return number
        raise AssertionError("unreachable")

    def ranges(self) -> list[tuple[int, int]]:
        """List the stretches of neighbouring numbers as start and stop, the stop not included."""
        found: list[tuple[int, int]] = []
        for number in self:
            if found and found[-1][1] == number:
                found[-1] = (found[-1][0], number + 1)
            else:
                found.append((number, number + 1))
        return found

    def shift(self, distance: int) -> BitSet:
        """Add a distance to every number; numbers that would be negative are dropped."""
        if distance >= 0:
            return self._of(self._bits << distance)
        return self._of(self._bits >> -distance)

    def to_bytes(self) -> bytes:
        """Encode the set: the number of stretches, then gaps and lengths in turn."""
        ranges = self.ranges()
        encoded = bytearray(write_varint(len(ranges)))
        end = 0
        for start, stop in ranges:
            encoded += write_varint(start - end) + write_varint(stop - start)
            end = stop
        return bytes(encoded)

    @classmethod
    def from_bytes(cls, data: bytes) -> BitSet:
        """Decode a set; the bytes may go on behind it."""
        count, offset = read_varint(data)
        result = cls()
        end = 0
        for _ in range(count):
            gap, offset = read_varint(data, offset)
            length, offset = read_varint(data, offset)
            start, end = end + gap, end + gap + length
            result |= cls.from_range(start, end)
        return result


def _check(number: int) -> None:
    if number < 0:
        raise ValueError(f"a bit set holds no negative numbers, got {number}")
