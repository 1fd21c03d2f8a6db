r"""Decode and edit files whose lines may end in ``\n``, ``\r\n`` or ``\r``.

A policy sees and writes ``\n`` alone; edits keep the line endings of the file.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from typing import NamedTuple

from agentgym.support.text_lines import split_lines

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_BARE = re.compile(r"(?<!\r)\n")
_END = re.compile(r"\r?\n")
_CODECS = re.compile(r"(?:ascii|iso8859|iso2022|cp\d|koi8|mac|shift_jis|euc_|gb|big5|johab)[\w-]*")
"""Encodings that a coding cookie may name; others are slow to decode, or no text encodings."""


class FileText(NamedTuple):
    """The text of a file, with its original line endings."""

    text: str
    """The decoded content."""
    encoding: str
    """Name of the encoding; encoding the text gives the bytes of the file again."""

    @property
    def end(self) -> str:
        r"""The line ending: ``\n``; ``\r\n`` if the text has any ``\r`` and ``\n``; or ``\r``."""
        if "\r" not in self.text:
            return "\n"
        return "\r\n" if "\n" in self.text else "\r"

    def lines(self) -> list[str]:
        """Return the lines without their endings."""
        return split_lines(self.text.replace(self.end, "\n"))

    def places(self, piece: str) -> list[tuple[int, int]]:
        r"""Return the first two spans at which a piece occurs; all line endings count as equal.

        A piece that contains ``\r`` is first searched verbatim.
        """
        if "\r" in piece:
            places = _places(self.text, piece)
            if places:
                return places
            piece = piece.replace("\r\n", "\n")
        if self.end == "\n":
            return _places(self.text, piece)
        plain_places = _places(self.text.replace(self.end, "\n"), piece)
        if self.end == "\r":
            return plain_places
        # Offsets in the plain text at which a line feed stands for two characters: add one to a
        # place for each of these before it.
        ends = [match.start() - n for n, match in enumerate(re.finditer("\r\n", self.text))]
        return [
            (start + bisect_left(ends, start), stop + bisect_left(ends, stop))
            for start, stop in plain_places
        ]

    def replace(self, place: tuple[int, int], piece: str, new: str) -> str:
        """Return the text with a piece replaced, using the line endings around it.

        The common beginning and end of both pieces stay as they are in the file, even if its line
        endings are mixed.

        Args:
            place: A span returned by :meth:`places`.
            piece: The piece that was searched for.
            new: The replacement.
        """
        start, stop = place
        if self.text[start:stop] == piece and ("\r" in piece or self.end == "\n"):
            return self.text[:start] + new + self.text[stop:]
        old, new = piece.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        head = _shared(old, new)
        tail = _shared(old[head:][::-1], new[head:][::-1])
        start = self._behind(start, old[:head])
        tail_start = self._behind(start, old[head : len(old) - tail])
        replacement = _BARE.sub(self._end_at(start), new[head : len(new) - tail])
        return self.text[:start] + replacement + self.text[tail_start:]

    def _behind(self, position: int, piece: str) -> int:
        r"""Return the index after a piece at an index, where ``\n`` may match ``\r\n``."""
        for line in split_lines(piece, keep_ends=True):
            position += len(line)
            if line.endswith("\n") and self.text.startswith("\r\n", position - 1):
                position += 1
        return position

    def _end_at(self, position: int) -> str:
        """Return the line ending at an index: that of its line, or else of the line before."""
        following = _END.search(self.text, position)
        if following and self.end != "\r":
            return following[0]
        line_break = self.text.rfind("\n", 0, position)
        if line_break < 0 or self.end == "\r":
            return self.end
        return "\r\n" if self.text[line_break - 1 : line_break] == "\r" else "\n"


def read_file_text(content: bytes) -> FileText:
    """Decode a file as UTF-8, else by its byte order mark or coding cookie, else as Latin-1."""
    for encoding in _encodings(content):
        try:
            text = content.decode(encoding)
            if text.encode(encoding) == content:
                return FileText(text, encoding)
        except (UnicodeError, LookupError):
            continue
    return FileText(content.decode("latin-1"), "latin-1")


def _encodings(content: bytes) -> list[str]:
    encodings = ["utf-8"]
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings.append("utf-16")
    cookie = _COOKIE.search(b"\n".join(content[:1000].split(b"\n")[:2]))
    try:
        name = codecs.lookup(cookie[1].decode("ascii")).name if cookie else ""
    except (LookupError, UnicodeError):
        name = ""
    return [*encodings, name] if _CODECS.fullmatch(name) else encodings


def _shared(left: str, right: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))


def _places(text: str, piece: str) -> list[tuple[int, int]]:
    """Return the first two spans of a piece that do not overlap: more are never needed."""
    first = text.find(piece)
    if first < 0:
        return []
    second = text.find(piece, first + len(piece))
    return [(start, start + len(piece)) for start in (first, second) if start >= 0]
