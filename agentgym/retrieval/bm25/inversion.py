"""From documents to postings: counted chunk by chunk, then put in place.

While documents are read, only compact counts of each chunk are kept, about four bytes a posting.
When all are known, so are the lengths, document frequencies and places of the postings of every
term, and each chunk is written to its final place; nothing is sorted as a whole.

What a posting adds to a score depends on its term and its saturation alone, and few saturations
are different: there are about 200 lengths as Lucene stores them. So a posting keeps the number of
its saturation.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agentgym.errors import ConfigurationError
from agentgym.retrieval.bm25 import similarity
from agentgym.retrieval.bm25.analysis import term, words
from agentgym.retrieval.bm25.similarity import Floats, Ints
from agentgym.retrieval.texts import PackedTexts

MOST_DOCUMENTS = 2_000_000
"""More would take more memory to build than a corpus of that size deserves."""
CHUNK_BITS = 14
"""Up to 2**14 documents are counted at a time, which leaves two bytes for a place in a chunk."""
CHUNK_TOKENS = 1 << 21
"""A chunk ends early with this many tokens: bounds the memory for long documents."""
LARGEST_TF = 65535


class Inverted(NamedTuple):
    """The postings of all terms, one after the other; those of a term ascend by document."""

    terms: PackedTexts
    """The vocabulary, sorted."""
    pointers: npt.NDArray[np.int64]
    """Start of each term's postings, and the end of the last one [terms + 1]."""
    documents: npt.NDArray[np.int32]
    """Number of the document [postings]."""
    codes: Ints
    """Number of the posting's saturation [postings], uint16 where that is enough, else uint32."""
    highest: Ints
    """Highest code of each term [terms], of the same type."""
    weights: Floats
    """Inverse document frequency of each term [terms]."""
    saturations: Floats
    """The different saturations, ascending [codes]."""
    lengths: npt.NDArray[np.int32]
    """Terms of each document, repetitions included [documents]."""


class _Vocabulary(dict[str, int]):
    """Map tokens to term numbers, -1 if not indexed; terms are numbered in order of appearance."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        """Number a token on first sight."""
        text = term(word)
        number = -1 if text is None else self.terms.setdefault(text, len(self.terms))
        self[word] = number
        return number


class _Chunk(NamedTuple):
    """Counts of some documents, ordered by term, then by document."""

    lengths: npt.NDArray[np.int32]
    """Terms of each document, repetitions included [documents]."""
    terms: npt.NDArray[np.int32]
    """The distinct terms [runs]."""
    sizes: npt.NDArray[np.int32]
    """Number of postings of each [runs]."""
    rows: npt.NDArray[np.uint16]
    """Place of the document in the chunk [postings]."""
    frequencies: npt.NDArray[np.uint16]
    """How often it holds the term [postings]."""


def invert(documents: Iterable[str], k1: float, b: float) -> Inverted:
    """Read documents and return their postings.

    Args:
        documents: The texts, read once.
        k1: Saturation of the term frequency.
        b: Strength of the length normalisation.

    Raises:
        ConfigurationError: There are more than ``MOST_DOCUMENTS``.
    """
    vocabulary = _Vocabulary()
    chunks = list(_chunks(documents, vocabulary))
    terms = sorted(vocabulary.terms)
    places = np.empty(len(terms), np.int32)  # of the terms, from the order in which they came
    places[[vocabulary.terms[text] for text in terms]] = np.arange(len(terms), dtype=np.int32)
    packed = PackedTexts.pack(terms)
    del vocabulary, terms
    lengths = np.concatenate([np.zeros(0, np.int32), *(chunk.lengths for chunk in chunks)])
    frequencies = np.zeros(len(packed), np.int64)
    for chunk in chunks:
        frequencies[places[chunk.terms]] += chunk.sizes
    pointers = np.zeros(len(packed) + 1, np.int64)
    np.cumsum(frequencies, out=pointers[1:])
    saturations = _Saturations(lengths, chunks, k1, b)
    rows, codes = _placed(chunks, places, pointers, saturations)
    return Inverted(
        terms=packed,
        pointers=pointers,
        documents=rows,
        codes=codes,
        highest=np.maximum.reduceat(codes, pointers[:-1]) if len(codes) else codes.copy(),
        weights=similarity.idf(frequencies, int(np.count_nonzero(lengths))),
        saturations=saturations.values,
        lengths=lengths,
    )


class _Saturations:
    """The different saturations of all postings, and their numbers.

    Args:
        lengths: Terms of each document.
        chunks: The counts of the documents, in order.
        k1: Saturation of the term frequency.
        b: Strength of the length normalisation.
    """

    def __init__(self, lengths: Ints, chunks: list[_Chunk], k1: float, b: float) -> None:
        norms = similarity.inverse_norms(lengths.astype(np.int64), k1, b)
        levels, self._levels = np.unique(norms, return_inverse=True)
        self._width = max(len(levels), 1)
        max_frequency = max((int(chunk.frequencies.max(initial=0)) for chunk in chunks), default=0)
        present = np.zeros((max_frequency + 1) * self._width, bool)
        first = 0
        for chunk in chunks:
            present[self._keys(chunk, first)] = True
            first += len(chunk.lengths)
        keys = np.flatnonzero(present)
        saturations = similarity.saturations(keys // self._width, levels[keys % self._width])
        self.values, numbers = np.unique(saturations, return_inverse=True)
        self._codes = np.zeros(
            len(present), np.uint16 if len(self.values) <= 1 << 16 else np.uint32
        )
        self._codes[keys] = numbers
        self.dtype = self._codes.dtype

    def codes(self, chunk: _Chunk, first: int) -> Ints:
        """Return the numbers of the saturations [postings] of a chunk, by its first document."""
        return self._codes[self._keys(chunk, first)]

    def _keys(self, chunk: _Chunk, first: int) -> Ints:
        """Number the pairs of frequency and length [postings]."""
        levels = self._levels[first : first + len(chunk.lengths)]
        return chunk.frequencies.astype(np.int64) * self._width + levels[chunk.rows]


def _placed(
    chunks: list[_Chunk], places: Ints, pointers: Ints, saturations: _Saturations
) -> tuple[npt.NDArray[np.int32], Ints]:
    """Write the counts of every chunk behind those of the chunks before it; empties ``chunks``.

    Args:
        chunks: The counts of the documents, in order.
        places: Place of each term in sorted order, by its number in the chunks [terms].
        pointers: Start of each term's postings, and the end of the last one [terms + 1].
        saturations: Gives the codes.

    Returns:
        Documents and codes [postings].
    """
    documents = np.empty(int(pointers[-1]), np.int32)
    codes = np.empty(len(documents), saturations.dtype)
    free = pointers[:-1].copy()
    first = 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        runs = places[chunk.terms]
        starts = np.cumsum(chunk.sizes, dtype=np.int64) - chunk.sizes
        targets = np.repeat(free[runs] - starts, chunk.sizes) + np.arange(len(chunk.rows))
        free[runs] += chunk.sizes
        documents[targets] = chunk.rows.astype(np.int32) + first
        codes[targets] = saturations.codes(chunk, first)
        first += len(chunk.lengths)
    return documents, codes


def _chunks(documents: Iterable[str], vocabulary: _Vocabulary) -> Iterator[_Chunk]:
    """Count the terms of documents, chunk by chunk."""
    numbers, sizes = array("i"), array("i")
    for number, text in enumerate(documents):
        if number == MOST_DOCUMENTS:
            raise ConfigurationError(
                f"expected at most {MOST_DOCUMENTS:,} documents for the index bm25, got more; "
                "index such a corpus with --index tantivy"
            )
        tokens = words(text.lower())
        numbers.extend([vocabulary[word] for word in tokens])
        sizes.append(len(tokens))
        if len(sizes) == 1 << CHUNK_BITS or len(numbers) >= CHUNK_TOKENS:
            yield _count(numbers, sizes)
            numbers, sizes = array("i"), array("i")
    if sizes:
        yield _count(numbers, sizes)


def _count(numbers: array[int], sizes: array[int]) -> _Chunk:
    """Count term numbers of documents that have so many tokens each."""
    terms = np.frombuffer(numbers, np.int32)
    rows = np.repeat(np.arange(len(sizes), dtype=np.int64), np.frombuffer(sizes, np.int32))
    indexed = terms >= 0
    terms, rows = terms[indexed], rows[indexed]
    keys = (terms.astype(np.int64) << CHUNK_BITS) | rows
    keys.sort()
    firsts = _changes(keys)
    frequencies = np.diff(firsts, append=len(keys))
    term_numbers = keys[firsts] >> CHUNK_BITS
    runs = _changes(term_numbers)
    return _Chunk(
        lengths=np.bincount(rows, minlength=len(sizes)).astype(np.int32),
        terms=term_numbers[runs].astype(np.int32),
        sizes=np.diff(runs, append=len(term_numbers)).astype(np.int32),
        rows=(keys[firsts] & ((1 << CHUNK_BITS) - 1)).astype(np.uint16),
        frequencies=np.minimum(frequencies, LARGEST_TF).astype(np.uint16),
    )


def _changes(values: Ints) -> Ints:
    """Return where another value begins than the one before."""
    first = np.ones(min(len(values), 1), bool)
    return np.flatnonzero(np.concatenate([first, values[1:] != values[:-1]]))
