"""Passages on disk: written as a stream, read by row, shared by all processes that read.

A store is three files of a folder:

* ``passages.bin``: the records end to end. A record is the lengths of id and title in bytes, two
  little-endian numbers of 32 bits, and then id, title and text in UTF-8.
* ``passages.offsets``: where each record begins, and where the last one ends; little-endian
  numbers of 64 bits.
* ``passages.json``: format and sizes. It is written last, so a store without it is unfinished.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from agentgym.errors import DataError
from agentgym.retrieval.index_facts import UNREADABLE, read_facts
from agentgym.retrieval.retriever import Passage

FORMAT = "agentgym.passages/1"
RECORDS = "passages.bin"
OFFSETS = "passages.offsets"
STORE_FACTS = "passages.json"

_HEAD = struct.Struct("<II")
_OFFSET = struct.Struct("<q")
_SPAN = struct.Struct("<qq")
HAS_PREAD = hasattr(os, "pread")
"""Whether the system reads at a position, which is not so on Windows."""
_ENCODING = ("utf-8", "surrogatepass")
_LARGEST_HEAD = 2**31
_BUFFER = 1 << 20
_STRETCH = 1 << 15
"""Passages of a pass over a store after which their pages are let go."""

Opened = TypeVar("Opened")


def indexed_text(passage: Passage) -> str:
    """Return a passage's text for full-text engines: the title, which counts twice, and text."""
    return f"{passage.title}\n{passage.title}\n{passage.text}"


class PassageWriter:
    """Writes a store passage by passage, in memory that does not grow with their number.

    Use it as a context manager: leaving it completes the store, leaving it by an exception does
    not, and an unfinished store cannot be opened.

    Args:
        folder: Where to write; made if it is not there. A store that is there is replaced.

    Raises:
        OSError: The files cannot be written.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._count = self._size = 0
        (self._folder / STORE_FACTS).unlink(missing_ok=True)
        for name in (RECORDS, OFFSETS):  # readers of an existing store keep their open files
            (self._folder / name).unlink(missing_ok=True)
        self._records = (self._folder / RECORDS).open("wb", buffering=_BUFFER)
        self._offsets = (self._folder / OFFSETS).open("wb", buffering=_BUFFER)
        self._offsets.write(_OFFSET.pack(0))

    def add(self, passage: Passage) -> int:
        """Append a passage and return its row; ids are not compared with those before.

        Raises:
            DataError: Id or title is longer than 2 GiB.
        """
        name, title, text = (
            part.encode(*_ENCODING) for part in (passage.id, passage.title, passage.text)
        )
        if max(len(name), len(title)) >= _LARGEST_HEAD:
            raise DataError(
                f"expected ids and titles below 2 GiB, got {len(name)} and {len(title)} bytes in "
                f"passage {self._count}; shorten them"
            )
        self._size += self._records.write(
            b"".join((_HEAD.pack(len(name), len(title)), name, title, text))
        )
        self._offsets.write(_OFFSET.pack(self._size))
        self._count += 1
        return self._count - 1

    def close(self) -> None:
        """Complete the store; may be called twice."""
        if self._records.closed:
            return
        self._records.close()
        self._offsets.close()
        facts = {"format": FORMAT, "passages": self._count, "bytes": self._size}
        (self._folder / STORE_FACTS).write_text(json.dumps(facts))

    def __len__(self) -> int:
        """Number of passages so far."""
        return self._count

    def __enter__(self) -> PassageWriter:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Complete the store, or leave it unfinished after an exception."""
        if kind is None:
            self.close()
            return
        for file in (self._records, self._offsets):
            with suppress(OSError):  # a full disk, which is the error being reported
                file.close()


class PassageStore:
    """The passages of a folder, read-only; rows are read on demand.

    Any number of processes and threads may read one folder; they share one copy in the page cache.
    A pickle holds only the path.

    Args:
        folder: A folder filled by :class:`PassageWriter`.

    Raises:
        DataError: The folder holds no store, an unfinished one, or files of other sizes than were
            written. Contents are not verified.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._count, size = self._facts()
        self._offsets = self._open_file(OFFSETS, (self._count + 1) * _OFFSET.size, _mapped)
        self._records: _Positioned | mmap.mmap | bytes
        if HAS_PREAD:
            self._records = self._open_file(RECORDS, size, _Positioned)
        else:
            self._records = self._open_file(RECORDS, size, _mapped)

    def __len__(self) -> int:
        """Number of passages."""
        return self._count

    def __getitem__(self, row: int) -> Passage:
        """Return the passage of a row, counted from 0.

        Raises:
            IndexError: There is no such row.
            DataError: The stored data is not a passage.
        """
        record, name, title = self._record(row)
        return Passage(
            self._text(row, record[_HEAD.size : name]),
            self._text(row, record[name:title]),
            self._text(row, record[title:]),
        )

    def __iter__(self) -> Iterator[Passage]:
        """Yield the passages in the order in which they were added.

        Pages that have been read are let go: a pass over a store takes little memory.
        """
        for row in range(self._count):
            if row % _STRETCH == _STRETCH - 1:
                self._let_go()
            yield self[row]

    def id(self, row: int) -> str:
        """Return the id of a row's passage; fails as ``store[row]`` does."""
        record, name, _ = self._record(row)
        return self._text(row, record[_HEAD.size : name])

    def title(self, row: int) -> str:
        """Return the title of a row's passage; fails as ``store[row]`` does."""
        record, name, title = self._record(row)
        return self._text(row, record[name:title])

    def text(self, row: int) -> str:
        """Return the text of a row's passage; fails as ``store[row]`` does."""
        record, _, title = self._record(row)
        return self._text(row, record[title:])

    @property
    def nbytes(self) -> int:
        """Size of records and offsets in bytes."""
        return len(self._records) + len(self._offsets)

    def close(self) -> None:
        """Release the files; may be called twice, and nothing can be read afterwards."""
        for opened in (self._records, self._offsets):
            if not isinstance(opened, bytes):
                opened.close()

    def __reduce__(self) -> Any:
        """Travel as the path."""
        return PassageStore, (self.folder,)

    # -- parts ----------------------------------------------------------------------------------

    def _record(self, row: int) -> tuple[bytes, int, int]:
        """Return the record of a row, and where its id and its title end."""
        if not 0 <= row < self._count:
            raise IndexError(f"expected a row from 0 to {self._count - 1}, got {row}")
        try:
            first, last = _SPAN.unpack_from(self._offsets, row * _OFFSET.size)
            if not 0 <= first <= last <= len(self._records):
                raise ValueError(f"it should lie from byte {first} to {last}")
            record = self._records[first:last]
            if len(record) < last - first:
                raise ValueError("the file has become shorter")
            name, title = _HEAD.unpack_from(record)
            name += _HEAD.size
            title += name
            if title > len(record):
                raise ValueError(f"id and title should end at byte {title} of {len(record)}")
        except (OSError, ValueError, struct.error) as error:
            raise self._damaged(row, error) from error
        return record, name, title

    def _text(self, row: int, part: bytes) -> str:
        """Decode a part of a row's record."""
        try:
            return part.decode(*_ENCODING)
        except UnicodeDecodeError as error:
            raise self._damaged(row, error) from error

    def _damaged(self, row: int, error: Exception) -> DataError:
        return DataError(
            f"expected passage {row} in {self.folder / RECORDS}, but it cannot be read ({error}); "
            "remove the folder and build the index again"
        )

    def _let_go(self) -> None:
        """Unmap the files where the system can; the next access maps them again."""
        advice = getattr(mmap, "MADV_DONTNEED", None)
        for mapped in (self._records, self._offsets):
            if advice is not None and isinstance(mapped, mmap.mmap):
                mapped.madvise(advice)

    def _facts(self) -> tuple[int, int]:
        """Return the number of passages and the size of their records."""
        path = self.folder / STORE_FACTS
        try:
            facts = read_facts(path, FORMAT)
            count, size = facts["passages"], facts["bytes"]
            if not (isinstance(count, int) and isinstance(size, int) and count >= 0 <= size):
                raise ValueError(f"it counts {count!r} passages in {size!r} bytes")
        except UNREADABLE as error:
            raise DataError(
                f"expected {path} to describe passages of format {FORMAT!r}, but it cannot be read "
                f"({type(error).__name__}: {error}); remove the folder and build the index again"
            ) from error
        return count, size

    def _open_file(self, name: str, size: int, opener: Callable[[BinaryIO], Opened]) -> Opened:
        """Open a file of a known size."""
        path = self.folder / name
        try:
            with path.open("rb") as file:
                actual_size = file.seek(0, os.SEEK_END)
                if actual_size == size:
                    return opener(file)
        except (OSError, ValueError) as error:
            raise DataError(
                f"expected {path} to hold {size} bytes of passages, but it cannot be read "
                f"({error}); remove the folder and build the index again"
            ) from error
        raise DataError(
            f"expected {path} to hold {size} bytes of passages, got {actual_size}; remove the "
            "folder and build the index again"
        )


def _mapped(file: BinaryIO) -> mmap.mmap | bytes:
    """Map a file into memory; nothing can be mapped of an empty one."""
    empty = file.seek(0, os.SEEK_END) == 0
    return b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class _Positioned:
    """Bytes of a file, read on demand.

    With a mapping the system would load 64 KB around each passage, and count them as the process's.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = os.fdopen(os.dup(file.fileno()), "rb", buffering=0)
        self._size = file.seek(0, os.SEEK_END)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, span: slice) -> bytes:
        return os.pread(self._file.fileno(), span.stop - span.start, span.start)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
