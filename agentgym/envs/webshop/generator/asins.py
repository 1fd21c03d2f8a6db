"""Product numbers: a keyed, invertible map from a product's index to ``B0`` plus 8 characters."""

from __future__ import annotations

import hashlib

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Base 32 without I, L, O and U, which are easily misread."""

PREFIX = "B0"
LENGTH = 10

_ROUNDS = 4
_HALF = 20
_MASK = (1 << _HALF) - 1
_VALUES = {letter: value for value, letter in enumerate(ALPHABET)}


class AsinCodec:
    """A bijection between indices below 2**40 and product numbers.

    A Feistel network over two halves of 20 bits: numbers look random, never collide, and the index
    can be read back without a table, so a shop of any size needs no memory for them.
    """

    def __init__(self, key: str) -> None:
        digest = hashlib.blake2b(key.encode(), digest_size=4 * _ROUNDS).digest()
        words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, len(digest), 4)]
        self._keys = tuple(words)

    def encode(self, index: int) -> str:
        """Return the product number of an index."""
        left, right = index >> _HALF, index & _MASK
        for key in self._keys:
            left, right = right, left ^ _mix(right, key)
        value = left << _HALF | right
        letters = (ALPHABET[(value >> shift) & 31] for shift in range(35, -1, -5))
        return PREFIX + "".join(letters)

    def decode(self, asin: str) -> int:
        """Return the index of a product number, or -1 if the text is not one."""
        if len(asin) != LENGTH or not asin.startswith(PREFIX):
            return -1
        value = 0
        for letter in asin[len(PREFIX) :]:
            digit = _VALUES.get(letter)
            if digit is None:
                return -1
            value = value << 5 | digit
        left, right = value >> _HALF, value & _MASK
        for key in reversed(self._keys):
            left, right = right ^ _mix(left, key), left
        return left << _HALF | right


def _mix(half: int, key: int) -> int:
    """Scramble 20 bits under a 32-bit key (a multiply-xor-shift round)."""
    word = (half * 0x9E3779B1 + key) & 0xFFFFFFFF
    word ^= word >> 15
    word = (word * 0x85EBCA77) & 0xFFFFFFFF
    word ^= word >> 13
    return word & _MASK
