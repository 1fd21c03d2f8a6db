"""User corpora: text and Markdown files, JSON lines, folders of both, gzipped or not.

A line of JSON is a passage: ``{"id", "contents"}``, where the first line of the contents is the
title in quotation marks, as in Search-R1, or ``{"id", "title", "text"}``. A text or Markdown file
is cut into passages, whose ids are its path in the folder and a number, as in ``guide/setup.md#3``.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import zlib
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, cast

from agentgym.core import options
from agentgym.errors import DataError
from agentgym.retrieval.corpora.splitting import split_text
from agentgym.retrieval.passage_text import split_contents
from agentgym.retrieval.retriever import Passage

TEXT = (".txt", ".text", ".rst")
MARKDOWN = (".md", ".markdown")
JSON_LINES = (".jsonl", ".ndjson")
KINDS = (*TEXT, *MARKDOWN, *JSON_LINES)
"""Endings of the files that are read; each may be followed by ``.gz``."""

LONGEST_LINE = 1 << 24
"""Most bytes of a line of JSON."""
LONGEST_ID = 500
"""Most characters of an id."""
BLOCK = 1 << 16
"""Bytes of a text file that are read at once if its lines are longer."""

_CONTROL = re.compile("[\0-\x1f\x7f]").search


class _Broken(Exception):
    """A line cannot be used; the message says what was expected and found."""


class Corpus:
    """The passages of a file or a folder, streamed in a fixed order.

    Every iteration reads the files again. Memory holds a line or a passage at a time.

    Args:
        path: A file, or a folder with files of the endings :data:`KINDS`, also in folders within;
            others, and those whose names begin with a dot, are left out.
        skip_broken_rows: Skip and count unusable rows instead of raising an error.
        passage_chars: Most characters of a passage that is cut from a text or Markdown file.

    Raises:
        DataError: The path names no such file.
        ConfigurationError: ``passage_chars`` is out of range.
    """

    def __init__(
        self, path: str | Path, *, skip_broken_rows: bool = False, passage_chars: int = 600
    ) -> None:
        self.path = Path(path)
        self.skip_broken_rows = options.flag(skip_broken_rows, "skip_broken_rows")
        self.passage_chars = options.integer(passage_chars, "passage_chars", 50, 1_000_000)
        self.files = _find(self.path)
        self._sizes = [file.stat().st_size for file in self.files]
        self.size = sum(self._sizes)
        self.broken = 0
        """How many lines and files the present iteration has left out."""
        self.first_problem = ""
        """Description of the first of them."""
        self._file, self._line = self.path, 0
        self._bytes_before, self._raw = 0, cast("IO[bytes] | None", None)

    def __iter__(self) -> Iterator[Passage]:
        """Yield the passages.

        Raises:
            DataError: A file or a line cannot be used; names it.
        """
        self.broken, self.first_problem, self._bytes_before = 0, "", 0
        for file, size in zip(self.files, self._sizes, strict=True):
            try:
                with file.open("rb") as raw:
                    self._file, self._raw, self._line = file, raw, 0
                    yield from self._passages(raw)
            except OSError as error:
                if isinstance(error, gzip.BadGzipFile):
                    raise self._damaged(error) from error
                raise DataError(f"expected to read {file}, got {error}") from error
            except (EOFError, zlib.error) as error:
                raise self._damaged(error) from error
            finally:
                self._raw = None
            self._bytes_before += size

    @property
    def bytes_read(self) -> int:
        """How much of :attr:`size` the present iteration has read."""
        return self._bytes_before + (self._raw.tell() if self._raw else 0)

    def refuse(self, expected: str, actual: str) -> None:
        """Report an error in the latest passage: raise it, or count it if rows may be skipped.

        Args:
            expected: What a passage should be or have.
            actual: The actual value.

        Raises:
            DataError: ``skip_broken_rows`` is False.
        """
        problem = f"expected {expected} in {self._file}, line {self._line}, got {actual:.200}"
        if not self.skip_broken_rows:
            raise DataError(
                f"{problem}; correct it, or leave out what is broken with skip_broken_rows=True "
                "(agentgym index --skip-broken-rows)"
            )
        self.broken += 1
        self.first_problem = self.first_problem or problem

    # -- parts ----------------------------------------------------------------------------------

    def _passages(self, raw: IO[bytes]) -> Iterator[Passage]:
        """Read the passages of the present file."""
        kind = _kind(self._file)
        stream = gzip.GzipFile(fileobj=raw) if self._file.suffix.lower() == ".gz" else raw
        if kind in JSON_LINES:
            yield from self._json_passages(stream)
            return
        name = self._name()
        title = Path(name.removesuffix(".gz")).stem
        lines = self._text_lines(stream)
        pieces = split_text(lines, title, self.passage_chars, markdown=kind in MARKDOWN)
        for number, (heading, text) in enumerate(pieces, 1):
            yield Passage(f"{name}#{number}", heading, text)

    def _json_passages(self, stream: Any) -> Iterator[Passage]:
        """Read one passage per line."""
        while line := stream.readline(LONGEST_LINE + 1):
            self._line += 1
            try:
                if len(line) > LONGEST_LINE:
                    _skip_line(stream, line)
                    raise _Broken(f"at most {LONGEST_LINE:,} bytes", "a longer line")
                if line.strip(b"\xef\xbb\xbf \t\r\n"):
                    yield _parse(line)
            except _Broken as problem:
                self.refuse(*problem.args)

    def _text_lines(self, stream: Any) -> Iterator[str]:
        """Decode the lines of a text, up to the first bytes that are not text."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        at_line_start = True
        while piece := stream.readline(BLOCK):
            self._line += at_line_start
            at_line_start = piece.endswith(b"\n")
            try:
                text = decoder.decode(piece)
            except UnicodeDecodeError as error:
                self.refuse("text in UTF-8", _encoding(piece + stream.read(512), error))
                return
            if "\0" in text:
                self.refuse("text", "a binary file (it holds NUL bytes)")
                return
            yield text
        if decoder.getstate()[0]:
            self.refuse("text in UTF-8", "a file that ends within a character")

    def _name(self) -> str:
        """Return the path of the present file within the corpus, the same on every system."""
        if self._file == self.path:
            return self._file.name
        name = self._file.relative_to(self.path).as_posix()
        return os.fsencode(name).decode("utf-8", "replace")

    def _damaged(self, error: Exception) -> DataError:
        return DataError(
            f"expected {self._file} to be a whole gzip file, but reading stopped after line "
            f"{self._line} ({error}); fetch or compress it again"
        )


class IdSet:
    """Which ids have been seen, in 16 to 32 bytes each whatever their length.

    It holds 64-bit hashes in a table with linear probing. Among 21 million ids the chance that any
    two distinct ones are taken for the same is 1 in 80,000.
    """

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 << 10))
        self._used = 0

    def add(self, name: str) -> bool:
        """Note an id; return whether it is new."""
        digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        slot = self._slot(key := int.from_bytes(digest, "little") or 1)
        if self._slots[slot]:
            return False
        self._slots[slot] = key
        self._used += 1
        if 2 * self._used > len(self._slots):
            keys = filter(None, self._slots)
            self._slots = array("Q", bytes(16 * len(self._slots)))
            for key in keys:
                self._slots[self._slot(key)] = key
        return True

    def _slot(self, key: int) -> int:
        """Return where a key is, or the free place where it belongs."""
        slots, last = self._slots, len(self._slots) - 1
        slot = key & last
        while slots[slot] and slots[slot] != key:
            slot = (slot + 1) & last
        return slot


def _find(path: Path) -> list[Path]:
    """List the files of a corpus in the order of their paths."""
    if path.is_file():
        if _kind(path) not in KINDS:
            raise DataError(
                f"expected a corpus in a file that ends in {', '.join(KINDS)} (or one of these "
                f"and .gz), got {path}; convert it, or give it the right ending"
            )
        return [path]
    if not path.is_dir():
        raise DataError(f"expected a file or a folder with a corpus, but {path} does not exist")
    files = []
    for folder, folders, names in os.walk(path, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(folder, name) for name in names if not name.startswith(".")]
    files = [file for file in files if _kind(file) in KINDS and file.is_file()]
    if not files:
        raise DataError(
            f"expected files that end in {', '.join(KINDS)} (or one of these and .gz) in {path}, "
            "got a folder without any"
        )
    return sorted(files, key=lambda file: file.relative_to(path).parts)


def _unreadable(error: OSError) -> None:
    raise DataError(
        f"expected to read the folder {error.filename}, got: {error.strerror}; make it readable, "
        "or leave it out by beginning its name with a dot"
    ) from error


def _kind(file: Path) -> str:
    """Return the ending of a file's name that says how it is read."""
    name = file.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _parse(line: bytes) -> Passage:
    """Read a line of JSON.

    Raises:
        _Broken: It is no passage.
    """
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _Broken("JSON in UTF-8", _encoding(line, error)) from None
    except (ValueError, RecursionError) as error:
        raise _Broken("a JSON object", f"{line[:60]!r} ({error})") from None
    if not isinstance(record, dict):
        raise _Broken("a JSON object", repr(record))
    name = _id(record)
    text = record.get("text")
    if text is None and isinstance(record.get("contents"), str):
        title, text = split_contents(record["contents"])
    else:
        title = record.get("title") or ""
    if not (isinstance(text, str) and isinstance(title, str)):
        expected = "the text of a passage (a string in the field contents, or title and text)"
        raise _Broken(expected, f"the fields {sorted(record)}")
    title, text = " ".join(title.split()), text.strip()
    if not (title or text):
        raise _Broken("a passage with a text", f"an empty one with the id {name!r}")
    try:
        "".join((name, title, text)).encode()
    except UnicodeEncodeError as error:
        raise _Broken("Unicode text", f"half a surrogate pair ({error})") from None
    return Passage(name, title, text)


def _id(record: dict[str, Any]) -> str:
    """Return the id of a record."""
    name = record.get("id")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not (isinstance(name, str) and 1 <= len(name) <= LONGEST_ID and not _CONTROL(name)):
        expected = f"an id (an integer, or a line of 1 to {LONGEST_ID} characters)"
        raise _Broken(expected, f"{name!r}" if "id" in record else f"the fields {sorted(record)}")
    return name


def _encoding(data: bytes, error: UnicodeDecodeError) -> str:
    """Guess the encoding of bytes that are not UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16 (convert the file: iconv -f UTF-16 -t UTF-8)"
    if b"\0" in data:
        return "a binary file (it holds NUL bytes)"
    byte = error.object[error.start]
    return f"the byte 0x{byte:02x} (convert the file, for example: iconv -f LATIN1 -t UTF-8)"


def _skip_line(stream: Any, line: bytes) -> None:
    """Read on to the end of a line."""
    while line and not line.endswith(b"\n"):
        line = stream.readline(BLOCK)
