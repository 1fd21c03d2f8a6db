"""The parts of building a BM25 index: counting terms, and Lucene's arithmetic."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from agentgym.errors import ConfigurationError, DataError
from agentgym.retrieval.analysis import term, words

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[Any]

CHUNK = 16384
"""Documents counted at a time while building: bounds the memory for their tokens."""
EXACT_LENGTHS = 24
"""Lengths below this are stored exactly; 255 minus the 231 codes that Lucene's byte needs above."""
LARGEST_TF = 65535


_LAYOUT = {
    "pointers": (np.int64, "terms"),
    "documents": (np.int32, "postings"),
    "frequencies": (np.uint16, "postings"),
    "impacts": (np.float32, "postings"),
    "inverse_norms": (np.float32, "documents"),
    "ranks": (np.int32, "documents"),
}
"""Type and size of each array of an index."""


class Vocabulary(dict[str, int]):
    """Maps tokens to term numbers, -1 for what is not indexed; terms are numbered as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        """Number a token on first sight."""
        text = term(word)
        number = -1 if text is None else self.terms.setdefault(text, len(self.terms))
        self[word] = number
        return number


def count(documents: Iterable[str], vocabulary: Vocabulary) -> tuple[Ints, tuple[Ints, ...]]:
    """Tokenise and count.

    Returns:
        Lengths [documents], and postings as term numbers, documents and frequencies, ordered by
        term and document.
    """
    lengths: list[Ints] = [np.zeros(0, np.int64)]
    columns: list[tuple[Ints, Ints, Ints]] = []
    first = 0
    for chunk in _chunks(documents):
        numbers, sizes = array("i"), []
        for text in chunk:
            found = words(text.lower())
            numbers.extend([vocabulary[word] for word in found])
            sizes.append(len(found))
        term_ids = np.frombuffer(numbers, np.int32).astype(np.int64)
        rows = np.repeat(np.arange(len(chunk)), sizes)[term_ids >= 0]
        term_ids = term_ids[term_ids >= 0]
        keys, frequencies = np.unique(term_ids * len(chunk) + rows, return_counts=True)
        found_terms, found_rows = np.divmod(keys, len(chunk))
        columns.append((found_terms, found_rows + first, frequencies))
        lengths.append(np.bincount(rows, minlength=len(chunk)))
        first += len(chunk)
    if not columns:
        columns.append((np.zeros(0, np.int64),) * 3)
    term_ids, rows, frequencies = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(term_ids, kind="stable")
    return np.concatenate(lengths), (
        term_ids[order],
        rows[order].astype(np.int32),
        np.minimum(frequencies[order], LARGEST_TF).astype(np.uint16),
    )


def _chunks(documents: Iterable[str]) -> Iterator[list[str]]:
    """Yield the documents in lists of at most ``CHUNK``."""
    stream = iter(documents)
    while chunk := list(islice(stream, CHUNK)):
        yield chunk


def check_ids(ids: Sequence[str], documents: int) -> None:
    """Refuse ids that do not name the documents one by one."""
    if len(ids) != documents or len(set(ids)) != documents:
        raise ConfigurationError(
            f"expected one distinct id for each of the {documents} documents, got {len(ids)} ids, "
            f"{len(set(ids))} of them distinct"
        )
    wrong = next((i for i in ids if not isinstance(i, str) or "\0" in i), None)
    if wrong is not None:
        raise ConfigurationError(f"expected ids to be str without NUL characters, got {wrong!r}")


def read_array(path: Path, *, mmap: bool = True) -> npt.NDArray[Any]:
    """Read a ``.npy`` file.

    Args:
        path: The file.
        mmap: Whether to map it, read-only.

    Returns:
        The array.

    Raises:
        DataError: The file is missing or damaged.
    """
    try:
        return cast(
            npt.NDArray[Any], np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
        )
    # numpy reads the header as a Python literal, so a damaged one fails as damaged Python does.
    except (OSError, ValueError, EOFError, SyntaxError, TypeError, TokenError) as error:
        raise DataError(
            f"expected an array in {path}, but it cannot be read ({type(error).__name__}: "
            f"{error}); make its folder again"
        ) from error


def check_arrays(arrays: dict[str, Ints], documents: int, terms: int) -> None:
    """Refuse arrays that do not belong to one index.

    Args:
        arrays: The arrays of an index, by name.
        documents: Number of its documents.
        terms: Number of its terms.

    Raises:
        ValueError: A type, size or position does not fit; the message names the array.
    """
    pointers, rows = arrays["pointers"], arrays["documents"]
    size = int(pointers[-1]) if pointers.shape == (terms + 1,) else 0
    for name, (dtype, sizes) in _LAYOUT.items():
        wanted = {"terms": terms + 1, "postings": size, "documents": documents}[sizes]
        found = arrays[name]
        if found.dtype != dtype or found.shape != (wanted,):
            raise ValueError(
                f"{name}.npy should hold {wanted} of {np.dtype(dtype)}, not {found.shape} of "
                f"{found.dtype}"
            )
    if pointers[0] or np.any(pointers[1:] < pointers[:-1]):
        raise ValueError("pointers.npy does not rise from 0")
    if size and not 0 <= rows.min() <= rows.max() < documents:
        raise ValueError(f"documents.npy names others than the {documents} documents")


def _quantised(lengths: Ints) -> Ints:
    """Cut document lengths to what Lucene's one-byte norm keeps."""
    above = np.maximum(lengths - EXACT_LENGTHS, 0)
    shift = np.maximum(np.frexp(above.astype(np.float64))[1] - 4, 0)
    return np.where(lengths < EXACT_LENGTHS, lengths, EXACT_LENGTHS + ((above >> shift) << shift))


def inverse_norms(lengths: Ints, k1: float, b: float) -> Floats:
    """Return 1 / norm for each document; infinity for one without text."""
    average = np.float32(lengths.sum() / max(np.count_nonzero(lengths), 1))
    one, k1_, b_ = np.float32(1), np.float32(k1), np.float32(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = b_ * _quantised(lengths).astype(np.float32) / average
        inverse = one / (k1_ * ((one - b_) + relative))
    inverse[lengths == 0] = np.inf
    return inverse.astype(np.float32)


def idf(document_frequencies: Ints, documents: int) -> Floats:
    """Return Lucene's inverse document frequency."""
    ratio = (documents - document_frequencies + 0.5) / (document_frequencies + 0.5)
    return np.log(1 + ratio).astype(np.float32)


def score(weights: Floats, frequencies: Ints, inverse_norms: Floats) -> Floats:
    """Return ``w - w / (1 + tf / norm)`` in float32."""
    saturation = np.float32(1) + frequencies.astype(np.float32) * inverse_norms
    return weights - weights / saturation
