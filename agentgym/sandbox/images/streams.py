"""Streams of packed layers; declared sizes are checked before anything is read."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zlib
from typing import BinaryIO, Protocol

from agentgym.errors import DataError

BLOCK = 1 << 20
LARGEST_HEADER = 1 << 20
"""Maximum size of a long name or of the records of a PAX header, which are read into memory."""
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""First bytes of streams of these formats."""
_WHOLE = frozenset({
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
})  # fmt: skip


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        ...


class BoundedHeader(tarfile.TarInfo):
    """A header with a size check before it is read (CVE-2025-8194 among others)."""

    def _proc_member(self, tarfile: tarfile.TarFile) -> tarfile.TarInfo:
        """Check the declared size before the data of a header is read.

        Overridden here and not in ``frombuf``, because newer versions of Python do not pass every
        header through ``frombuf``.

        Raises:
            DataError: The declared size is negative, or too large for a header.
        """
        if self.size < 0 or (self.type in _WHOLE and self.size > LARGEST_HEADER):
            raise DataError(
                f"expected a header of at most {LARGEST_HEADER:,} bytes in an archive, got one of "
                f"{self.size:,}; the archive is damaged or hostile"
            )
        return super()._proc_member(tarfile)  # type: ignore[misc]


class HashedStream:
    """A stream that hashes its bytes, up to a limit.

    Args:
        source: Source of the bytes.
        bound: Maximum number of bytes.
    """

    def __init__(self, source: Readable, bound: int) -> None:
        self.bytes_read = 0
        """Number of bytes read so far."""
        self._source, self._bound = source, bound
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes.

        Raises:
            DataError: The limit is exceeded.
        """
        data = self._source.read(BLOCK if size < 0 else size)
        self.bytes_read += len(data)
        if self.bytes_read > self._bound:
            raise DataError(
                f"expected a layer of at most {self._bound:,} bytes, got more; raise the limit "
                "(Bounds) if you trust the image"
            )
        self._hash.update(data)
        return data

    def digest(self) -> str:
        """Read the remaining bytes, and return the hash of all bytes."""
        while self.read(BLOCK):
            pass
        return f"sha256:{self._hash.hexdigest()}"


class Gunzip:
    """The unpacked bytes of a gzip stream with one or several members.

    Each read is bounded by its size, unlike in ``gzip.GzipFile``.

    Args:
        source: The packed bytes.
    """

    def __init__(self, source: Readable) -> None:
        self._source, self._unread = source, b""
        self._unpacker = zlib.decompressobj(31)

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        while True:
            data = self._unread or self._source.read(1 << 18)
            if self._unpacker.eof:
                if not data.strip(b"\0"):
                    return b""
                self._unpacker = zlib.decompressobj(31)
            elif not data and not self._unpacker.unconsumed_tail:
                raise DataError(
                    "expected a complete gzip stream, got a truncated one; download it again"
                )
            unpacked = self._unpacker.decompress(data, size)
            self._unread = self._unpacker.unconsumed_tail or self._unpacker.unused_data
            if unpacked:
                return unpacked


class Prefixed:
    """A stream that starts again with bytes that were read to detect its format.

    Args:
        start: The bytes.
        source: The rest.
    """

    def __init__(self, start: bytes, source: Readable) -> None:
        self._start, self._source = start, source

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        if self._start:
            data, self._start = self._start[:size], self._start[size:]
            return data
        return self._source.read(size)


def plain_stream(source: Readable) -> Readable:
    """Return the unpacked bytes of a layer in any format.

    Raises:
        DataError: This Python does not support the compression.
    """
    start = source.read(1 << 16)
    stream = Prefixed(start, source)
    if start.startswith(ZSTD):
        raise DataError(
            "expected layers packed with gzip or not at all, got zstd, which no Python before 3.14 "
            "reads; copy the image with `skopeo copy --dest-compress-format gzip`, or save it with "
            "`docker save`"
        )
    return Gunzip(stream) if start.startswith(GZIP) else stream


def read_bounded(source: BinaryIO | io.BufferedIOBase, max_bytes: int, subject: str) -> bytes:
    """Return the whole content of a small file.

    Raises:
        DataError: It is too large.
    """
    data = source.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise DataError(f"expected {subject} of at most {max_bytes:,} bytes, got more")
    return data
