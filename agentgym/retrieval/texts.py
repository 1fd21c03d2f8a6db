"""Many short texts in two arrays, in memory or mapped from files.

A million strings as Python objects take 60 MB in every process and a second to read; as one run of
bytes behind an offset table they take the page cache once, and opening reads none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tokenize import TokenError
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from agentgym.errors import DataError

_ENCODING = ("utf-8", "surrogatepass")
_CHUNK = 4096


class PackedTexts(Sequence[str]):
    """Immutable texts behind an offset table.

    Args:
        blob: The texts in UTF-8, end to end.
        offsets: Start of each text, and the end of the last one [texts + 1].
    """

    def __init__(self, blob: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self.blob = blob
        self.offsets = offsets
        # Reading single entries, views are several times as fast as arrays.
        self._bytes = memoryview(blob)  # type: ignore[arg-type]  # a buffer, which 3.10 cannot say
        self._starts = memoryview(offsets)  # type: ignore[arg-type]

    @classmethod
    def pack(cls, texts: Iterable[str]) -> PackedTexts:
        """Encode texts one by one."""
        blob = bytearray()
        ends = [0]
        for text in texts:
            blob += text.encode(*_ENCODING)
            ends.append(len(blob))
        return cls(np.frombuffer(blob, np.uint8), np.array(ends, np.int64))

    def save(self, folder: Path, name: str) -> None:
        """Write two ``.npy`` files."""
        save_array(folder / f"{name}.npy", self.blob)
        save_array(folder / f"{name}_offsets.npy", self.offsets)

    @classmethod
    def open(cls, folder: Path, name: str, *, mmap: bool = True) -> PackedTexts:
        """Read or map the files that :meth:`save` wrote.

        Raises:
            DataError: The files are missing, damaged or do not fit together.
        """
        blob = read_array(folder / f"{name}.npy", mmap=mmap)
        offsets = read_array(folder / f"{name}_offsets.npy", mmap=mmap)
        fits = blob.dtype == np.uint8 and offsets.dtype == np.int64
        fits = fits and blob.ndim == offsets.ndim == 1 and len(offsets) > 0
        if not fits or offsets[0] != 0 or offsets[-1] != len(blob):
            raise DataError(
                f"expected {folder / name}_offsets.npy to divide {name}.npy, got {offsets.dtype} "
                f"of {offsets.shape} for {blob.dtype} of {blob.shape}; make the folder again"
            )
        return cls(blob, offsets)

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return one text, or a list for a slice."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            index = range(len(self))[index]
        return str(self._bytes[self._starts[index] : self._starts[index + 1]], *_ENCODING)

    def __iter__(self) -> Iterator[str]:
        """Yield the texts."""
        for first in range(0, len(self), _CHUNK):
            ends = self.offsets[first : first + _CHUNK + 1].tolist()
            data = self.blob[ends[0] : ends[-1]].tobytes()
            for start, end in pairwise(ends):
                yield data[start - ends[0] : end - ends[0]].decode(*_ENCODING)

    def find(self, text: str) -> int:
        """Return the position of a text, or -1; the texts must be sorted.

        UTF-8 sorts as code points do, so ``sorted`` gives the right order.
        """
        target, data, starts = text.encode(*_ENCODING), self._bytes, self._starts
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) >> 1
            if bytes(data[starts[middle] : starts[middle + 1]]) < target:
                low = middle + 1
            else:
                high = middle
        exists = low < len(self) and data[starts[low] : starts[low + 1]] == target
        return low if exists else -1

    @property
    def nbytes(self) -> int:
        """Size of both arrays in bytes."""
        return self.blob.nbytes + self.offsets.nbytes

    def __reduce__(self) -> Any:
        """Travel as the two arrays."""
        return PackedTexts, (self.blob, self.offsets)


def save_array(path: Path, values: npt.NDArray[Any]) -> None:
    """Write a ``.npy`` file; an existing one stays intact for processes that have mapped it."""
    path.unlink(missing_ok=True)
    np.save(path, values, allow_pickle=False)


def read_array(path: Path, *, mmap: bool = True) -> npt.NDArray[Any]:
    """Read a ``.npy`` file, or map it read-only.

    Raises:
        DataError: The file is missing or damaged.
    """
    try:
        # As a plain array: every slice of a ``memmap`` costs a microsecond more.
        return np.asarray(np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False))
    # numpy reads the header as a Python literal, so a damaged one fails as damaged Python does.
    except (
        OSError, ValueError, EOFError, SyntaxError, TypeError, TokenError, OverflowError
    ) as error:  # fmt: skip
        raise DataError(
            f"expected an array in {path}, but it cannot be read ({type(error).__name__}: "
            f"{error}); make its folder again"
        ) from error
