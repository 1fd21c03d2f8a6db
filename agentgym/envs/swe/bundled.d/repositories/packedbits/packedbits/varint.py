"""Whole numbers in as few bytes as they need (LEB128).

Each byte carries seven bits, the lowest first; the highest bit says that more bytes follow.
"""

from __future__ import annotations

from packedbits.errors import CorruptData

MAX_BYTES = 10


def write_varint(number: int) -> bytes:
    """Encode a number that is not negative."""
    if number < 0:
        raise ValueError(f"a varint cannot be negative, got {number}")
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(data: bytes, offset: int = 0) -> tuple[int, int]:
    """Decode a number.

    Args:
        data: The bytes.
        offset: Where it begins.

    Returns:
        The number, and the offset behind it.
    """
    number = 0
    for count in range(MAX_BYTES):
        if offset + count >= len(data):
            raise CorruptData("the data end within a number")
        byte = data[offset + count]
        number |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return number, offset + count + 1
    raise CorruptData(f"a number has more than {MAX_BYTES} bytes")


def zigzag(number: int) -> int:
    """Map whole numbers to those that are not negative: 0, -1, 1, -2 to 0, 1, 2, 3."""
    return 2 * number if number >= 0 else -2 * number - 1


def unzigzag(number: int) -> int:
    """Take ``zigzag`` back."""
    return number // 2 if number % 2 == 0 else -(number + 1) // 2
