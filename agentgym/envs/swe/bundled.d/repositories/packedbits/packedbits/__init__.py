"""Bit sets, Bloom filters and run-length encoding."""

from packedbits.bitset import BitSet
from packedbits.bloom import BloomFilter, fnv1a
from packedbits.errors import CorruptData
from packedbits.rle import RunLengths, pack_rle, unpack_rle
from packedbits.varint import read_varint, unzigzag, write_varint, zigzag

__all__ = [
    "BitSet",
    "BloomFilter",
    "CorruptData",
    "RunLengths",
    "fnv1a",
    "pack_rle",
    "read_varint",
    "unpack_rle",
    "unzigzag",
    "write_varint",
    "zigzag",
]
