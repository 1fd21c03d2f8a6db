"""Is this a story file, and is it whole? Asked before the interpreter sees it.

Jericho's interpreter is C in the same process: a story file that is cut short or damaged makes it
call ``exit`` and takes the process with it. The Z-Machine Standards Document (1.1, section 11)
puts what is needed to notice damage into a story's header, big-endian:

* byte 0x00: version of the machine, 8 for TextWorld's stories;
* word 0x1A: length of the story in units of 8 bytes;
* word 0x1C: sum of all bytes from 0x40 to that length, modulo 2**16;
* words 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E: addresses within it (high memory, first instruction,
  dictionary, objects, globals, static memory).

That finds every damage of one byte behind the header and all but one in 65,536 of the others. It
cannot make a story harmless that somebody has written to do harm, which is why stories of unknown
origin run in a process of their own: :mod:`agentgym.envs.textworld.original.isolated`.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from agentgym.errors import DataError

VERSION = 8
HEADER = 64
"""Bytes of the header, which the checksum leaves out."""
LARGEST = 512 * 1024
"""Most bytes of a story of version 8."""
UNIT = 8
"""Bytes for each unit of the length in the header."""
ADDRESSES = {
    0x04: "high memory", 0x06: "first instruction", 0x08: "dictionary", 0x0A: "objects",
    0x0C: "globals", 0x0E: "static memory",
}  # fmt: skip


def check_story(path: Path) -> int:
    """Refuse a story file that is damaged.

    Args:
        path: The ``.z8`` file.

    Returns:
        A checksum (CRC-32) of the whole file, to know it again.

    Raises:
        DataError: It cannot be read, is no story of version 8, or is not whole.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST + HEADER * UNIT else b""
    except OSError as error:
        raise DataError(f"expected a story file in {path}, but it cannot be read: {error}") from (
            error
        )
    problem = damage(data) if data or not size else f"it has {size} bytes"
    if problem:
        raise DataError(
            f"expected a whole story file of version {VERSION} in {path}, but {problem}; compile "
            "it again with tw-make, or remove it, and it is compiled from the .json beside it"
        )
    return zlib.crc32(data)


def damage(data: bytes) -> str:
    """Say what is wrong with a story; nothing if its header agrees with its content.

    Args:
        data: Content of the file.
    """
    if len(data) <= HEADER:
        return f"it has {len(data)} bytes, not even a header and a story"
    if data[0] != VERSION:
        return f"its first byte says version {data[0]}"
    length, checksum = _word(data, 0x1A) * UNIT, _word(data, 0x1C)
    if not HEADER < length <= len(data):
        return f"its header says {length} bytes, and it has {len(data)}"
    for place, name in ADDRESSES.items():
        if not HEADER <= _word(data, place) < length:
            return f"the address of its {name} is outside of the story"
    found = int(np.frombuffer(data, np.uint8, length - HEADER, HEADER).sum()) & 0xFFFF
    return "" if found == checksum else f"its checksum is {found}, and its header says {checksum}"


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")
