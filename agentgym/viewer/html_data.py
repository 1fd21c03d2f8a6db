"""Data inside a page: blocks of text that no parser of HTML can take for markup.

A block is a script element of a type that browsers do not run. Small data stands in it as JSON, in
which ``<``, ``>`` and ``&`` are written as escapes; large data as zlib streams in base64, each
unpacked when the page needs it. Both are ASCII, so that no coding, line separator or half of a
character can end a line or an element.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator
from typing import Any

CHUNK_CHARS = 1 << 18
"""Characters of a chunk, before it is packed: what the page unpacks to show one episode."""
SIMPLE_CHARS = 1 << 19
"""Characters of all chunks up to which they are embedded as readable JSON."""
PLAIN, PACKED = "application/json", "application/zlib"
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def to_json(value: object) -> str:
    """Write a value as one line of ASCII JSON that cannot end a script element.

    Numbers that JSON does not have (NaN, infinities) become their names.
    """
    try:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_named(value), ensure_ascii=True, separators=(",", ":"))
    return text.translate(_ESCAPES)


def _named(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _named(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_named(part) for part in value]
    return value


def block(name: str, content: str, kind: str) -> str:
    """Return the element that holds a content of `to_json`, or of `packed`."""
    return f'<script type="{kind}" id="{name}">{content}</script>\n'


def packed(text: str) -> str:
    """Pack text."""
    return base64.b64encode(zlib.compress(text.encode("ascii"), 6)).decode("ascii")


class Chunks:
    """Lines of JSON in blocks of a size that is quickly unpacked."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._open_chars = 0
        self._chars = 0
        self._plain_chunks: list[str] = []
        self._packed: list[str] = []

    def add(self, line: str) -> tuple[int, int]:
        """Add a line.

        Returns:
            Its place: number of the chunk, and of the line in it.
        """
        place = len(self._packed), len(self._lines)
        self._lines.append(line)
        self._open_chars += len(line)
        self._chars += len(line)
        if self._open_chars >= CHUNK_CHARS:
            self._close()
        return place

    def blocks(self) -> Iterator[str]:
        """Close the last chunk and yield the elements ``chunk-0``, ``chunk-1``, ..."""
        if self._lines:
            self._close()
        simple = self._chars <= SIMPLE_CHARS
        kind = PLAIN if simple else PACKED
        for number, content in enumerate(self._plain_chunks if simple else self._packed):
            yield block(f"chunk-{number}", content, kind)

    def _close(self) -> None:
        text = "\n".join(self._lines)
        if self._chars <= SIMPLE_CHARS:
            self._plain_chunks.append(text)
        else:
            self._plain_chunks.clear()  # it will not be used any more
        self._packed.append(packed(text))
        self._lines, self._open_chars = [], 0
