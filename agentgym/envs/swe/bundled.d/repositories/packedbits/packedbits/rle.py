"""Run-length encoding of bytes and of any values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from packedbits.errors import CorruptData

MIN_RUN = 3
MAX_RUN = 130
MAX_LITERAL = 128


def pack_rle(data: bytes) -> bytes:
    """Encode bytes.

    A byte of 128 or more, 128 + n - 3, says that the next byte stands n times, n from 3 to 130.
    A smaller byte n says that n + 1 bytes follow as they are.
    """
    packed = bytearray()
    literal = bytearray()
    position = 0
    while position < len(data):
        length = run_length(data, position)
        if length < MIN_RUN:
            literal += data[position : position + length]
        else:
            packed += _literals(literal)
            literal.clear()
            packed += bytes([128 + length - MIN_RUN, data[position]])
        position += length
    return bytes(packed + _literals(literal))


def run_length(data: bytes, start: int) -> int:
    """Count how often the byte at a place stands there, up to the longest run."""
    end = start + 1
    while end < len(data) and data[end] == data[start] and end - start < MAX_RUN:
        end += 1
    return end - start


def _literals(literal: bytearray) -> bytes:
    packed = bytearray()
    for start in range(0, len(literal), MAX_LITERAL):
        piece = literal[start : start + MAX_LITERAL]
        packed.append(len(piece) - 1)
        packed += piece
    return bytes(packed)


def unpack_rle(packed: bytes) -> bytes:
    """Decode what ``pack_rle`` has made."""
    data = bytearray()
    position = 0
    while position < len(packed):
        head = packed[position]
        length = 1 if head >= 128 else head + 1
        piece = packed[position + 1 : position + 1 + length]
        if len(piece) < length:
            raise CorruptData("the data end within a run")
        data += piece * (head - 128 + MIN_RUN) if head >= 128 else piece
        position += 1 + length
    return bytes(data)


class RunLengths:
    """A list of values in which equal neighbours are stored once.

    Args:
        values: The values.
    """

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self.runs: list[tuple[Any, int]] = []
        for value in values:
            self.append(value)

    def append(self, value: Any, count: int = 1) -> None:
        """Put a value behind the others, once or several times."""
        if count < 1:
            raise ValueError(f"count is at least 1, got {count}")
        if self.runs and self.runs[-1][0] == value:
            count += self.runs.pop()[1]
        self.runs.append((value, count))

    def __len__(self) -> int:
        """How many values there are."""
        return sum(count for _, count in self.runs)

    def __iter__(self) -> Iterator[Any]:
        """Go through all values."""
        for value, count in self.runs:
            for _ in range(count):
                yield value

    def __getitem__(self, place: int) -> Any:
        """Give the value at a place; negative places count from the end."""
        left = place + len(self) if place < 0 else place
        if left >= 0:
            for value, count in self.runs:
                if left < count:
                    return value
                left -= count
        raise IndexError(f"there is no place {place} among {len(self)} values")

    def longest(self) -> tuple[Any, int] | None:
        """Give the longest run, the first among equals; ``None`` if there is none."""
        return max(self.runs, key=lambda run: run[1], default=None)

    def text(self) -> str:
        """Write the runs in short, such as ``a3 b c2``."""
        return " ".join(f"{value}{count if count > 1 else ''}" for value, count in self.runs)
