"""BM25 ranking equal to Lucene 8's, over numpy arrays that many processes can share.

Score of a document for one query term that occurs ``n`` times in the query (float32 throughout)::

    score = w - w / (1 + tf / norm)        w    = n * idf
    idf   = ln(1 + (N - df + 0.5) / (df + 0.5))
    norm  = k1 * (1 - b + b * length' / average_length)

``length'`` is the document length as Lucene stores it in one byte: exact below 24, else cut to four
significant bits. Scores are summed in float64 and rounded to float32; ties go to the smaller id.
"""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.errors import ConfigurationError, DataError
from agentgym.retrieval.analysis import term, tokenize, words

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[Any]

FORMAT = "agentgym.bm25/1"
CHUNK = 16384
"""Documents counted at a time while building: bounds the memory for their tokens."""
EXACT_LENGTHS = 24
"""Lengths below this are stored exactly; 255 minus the 231 codes that Lucene's byte needs above."""
LARGEST_TF = 65535
ARRAYS = {
    "pointers": (np.int64, "terms"),
    "documents": (np.int32, "postings"),
    "frequencies": (np.uint16, "postings"),
    "impacts": (np.float32, "postings"),
    "inverse_norms": (np.float32, "documents"),
    "ranks": (np.int32, "documents"),
}
"""Type and size of each array of an index."""


class BM25Index:
    """An immutable inverted index.

    Build one with :meth:`build` or :meth:`open`.

    Args:
        ids: Document ids, in the order of the documents.
        terms: The vocabulary, in the order of ``pointers``.
        arrays: The arrays named ``pointers`` (int64, terms + 1), ``documents`` (int32, postings),
            ``frequencies`` (uint16, postings), ``impacts`` (float32, postings: the score for
            n = 1), ``inverse_norms`` (float32, documents) and ``ranks`` (int32, documents: place
            of the id in sorted order).
        k1: Saturation of the term frequency.
        b: Strength of the length normalisation.
        path: Folder that the index was opened from, if any; pickles then carry only the path.
    """

    def __init__(
        self,
        ids: Sequence[str],
        terms: Sequence[str],
        arrays: dict[str, Ints],
        *,
        k1: float,
        b: float,
        path: Path | None = None,
    ) -> None:
        self.ids = ids
        self.k1 = k1
        self.b = b
        self._terms = terms
        self._arrays = arrays
        self._path = path
        self._numbers = {text: number for number, text in enumerate(terms)}
        self._documents_with_text = int(np.isfinite(arrays["inverse_norms"]).sum())

    # -- building and storing -------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        ids: Sequence[str] | None = None,
        *,
        k1: float = 0.9,
        b: float = 0.4,
    ) -> BM25Index:
        """Index documents.

        Args:
            documents: The texts, read once.
            ids: One distinct id per document; ``"0"``, ``"1"``, ... if left out. Equal scores are
                ordered by id, so ids decide ties.
            k1: Saturation of the term frequency, above 0.
            b: Strength of the length normalisation, from 0 to 1.

        Returns:
            The index, in memory.

        Raises:
            ConfigurationError: ``k1`` or ``b`` is out of range, or the ids do not fit.
        """
        if not (math.isfinite(k1) and k1 > 0 and 0 <= b <= 1):
            raise ConfigurationError(f"expected k1 > 0 and 0 <= b <= 1, got k1={k1}, b={b}")
        vocabulary = _Vocabulary()
        lengths, columns = _count(documents, vocabulary)
        names = [str(i) for i in range(len(lengths))] if ids is None else list(ids)
        _check_ids(names, len(lengths))
        term_ids, rows, frequencies = columns
        pointers = np.zeros(len(vocabulary.terms) + 1, np.int64)
        np.cumsum(np.bincount(term_ids, minlength=len(vocabulary.terms)), out=pointers[1:])
        norms = _inverse_norms(lengths, k1, b)
        weights = _idf(np.diff(pointers), int(np.count_nonzero(lengths)))
        ranks = np.empty(len(names), np.int32)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        arrays = {
            "pointers": pointers,
            "documents": rows,
            "frequencies": frequencies,
            "impacts": _score(weights[term_ids], frequencies, norms[rows]),
            "inverse_norms": norms,
            "ranks": ranks,
        }
        return cls(names, list(vocabulary.terms), arrays, k1=float(k1), b=float(b))

    def save(self, path: str | Path) -> None:
        """Write the index to a folder, in place of another one that is there."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", self._arrays[name], allow_pickle=False)
        for name, texts in (("ids", self.ids), ("terms", self._terms)):
            (folder / f"{name}.txt").write_bytes("\0".join(texts).encode("utf-8", "surrogatepass"))
        meta = {"format": FORMAT, "k1": self.k1, "b": self.b, "documents": len(self)}
        (folder / "index.json").write_text(json.dumps(meta))

    @classmethod
    def open(cls, path: str | Path, *, mmap: bool = True) -> BM25Index:
        """Open a saved index.

        Args:
            path: The folder given to :meth:`save`.
            mmap: Whether to map the arrays, so that processes share one copy in memory.

        Returns:
            The index.

        Raises:
            DataError: The folder holds no index, one of another format, or one whose parts do not
                fit together. Values are not compared with what was saved: a folder that may be
                damaged is stored with :func:`agentgym.caching.save_folder`.
        """
        folder = Path(path)
        try:
            meta = json.loads((folder / "index.json").read_text())
            if meta["format"] != FORMAT:
                raise ValueError(f"its format is {meta['format']!r}")
            k1, b, documents = float(meta["k1"]), float(meta["b"]), meta["documents"]
            arrays = {name: read_array(folder / f"{name}.npy", mmap=mmap) for name in ARRAYS}
            ids, terms = (
                (folder / f"{name}.txt").read_bytes().decode("utf-8", "surrogatepass").split("\0")
                for name in ("ids", "terms")
            )
            ids, terms = ids if documents else [], terms if len(arrays["pointers"]) > 1 else []
            _check_arrays(arrays, documents, len(terms))
            if len(ids) != documents or len(set(terms)) < len(terms):
                raise ValueError(f"it has {documents} documents, {len(ids)} ids, or terms twice")
        except (
            OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError
        ) as error:  # fmt: skip
            raise DataError(
                f"expected a BM25 index of format {FORMAT!r} in {folder}, but it cannot be read "
                f"({type(error).__name__}: {error}); build it again with "
                "BM25Index.build(...).save(...)"
            ) from error
        return cls(ids, terms, arrays, k1=k1, b=b, path=folder)

    # -- searching ------------------------------------------------------------------------------

    def search(self, query: str, k: int = 10) -> tuple[list[str], Floats]:
        """Rank documents for a query.

        Args:
            query: Free text; words that are not in the index are ignored, repeated ones add up.
            k: Most results to return.

        Returns:
            Ids of the best documents, best first, and their scores.

        Raises:
            ConfigurationError: ``k`` is below 1.
        """
        rows, scores = self.search_rows(query, k)
        ids = self.ids
        return [ids[row] for row in rows.tolist()], scores

    def search_rows(self, query: str, k: int = 10) -> tuple[Ints, Floats]:
        """Rank documents as :meth:`search` does, but return their positions instead of ids."""
        if k < 1:
            raise ConfigurationError(f"expected k to be at least 1, got {k}")
        documents, impacts = [], []
        for number, count in self._query(query).items():
            span = slice(*self._arrays["pointers"][number : number + 2].tolist())
            documents.append(self._arrays["documents"][span])
            impacts.append(self._impacts(span, count))
        if not documents:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        total = np.bincount(
            np.concatenate(documents), np.concatenate(impacts), minlength=len(self.ids)
        )
        rows = np.flatnonzero(total)
        scores = total[rows].astype(np.float32)
        if len(rows) > k:
            least = np.partition(scores, len(rows) - k)[len(rows) - k]
            kept = scores >= least
            rows, scores = rows[kept], scores[kept]
        order = np.lexsort((self._arrays["ranks"][rows], -scores))[:k]
        return rows[order], scores[order]

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return sum(values.nbytes for values in self._arrays.values())

    def __reduce__(self) -> Any:
        """Pickle an opened index as its path, another one by content."""
        if self._path is not None:
            return BM25Index.open, (self._path,)
        made = partial(BM25Index, k1=self.k1, b=self.b)
        return made, (list(self.ids), list(self._terms), self._arrays)

    # -- parts ----------------------------------------------------------------------------------

    def _query(self, query: str) -> dict[int, int]:
        """Count the query's terms that the index knows."""
        counts = Counter(tokenize(query))
        numbers = self._numbers
        return {numbers[text]: n for text, n in counts.items() if text in numbers}

    def _impacts(self, span: slice, count: int) -> Floats:
        """Return the scores of one term's postings for ``count`` occurrences in the query."""
        impacts = self._arrays["impacts"][span]
        if count == 1:
            return impacts
        if count & (count - 1) == 0:  # multiplying by a power of two is exact
            return impacts * np.float32(count)
        idf = _idf(np.array([span.stop - span.start]), self._documents_with_text)
        norms = self._arrays["inverse_norms"][self._arrays["documents"][span]]
        return _score(idf * np.float32(count), self._arrays["frequencies"][span], norms)


class _Vocabulary(dict[str, int]):
    """Map tokens to term numbers, -1 for what is not indexed; terms are numbered as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        """Number a token on first sight."""
        text = term(word)
        number = -1 if text is None else self.terms.setdefault(text, len(self.terms))
        self[word] = number
        return number


def _count(documents: Iterable[str], vocabulary: _Vocabulary) -> tuple[Ints, tuple[Ints, ...]]:
    """Count tokens: lengths [documents], and term numbers, documents and frequencies [postings].

    Postings are ordered by term, then by document.
    """
    lengths: list[Ints] = [np.zeros(0, np.int64)]
    columns: list[tuple[Ints, Ints, Ints]] = []
    first = 0
    stream = iter(documents)
    while chunk := list(islice(stream, CHUNK)):
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


def _check_ids(ids: Sequence[str], documents: int) -> None:
    """Refuse ids that do not name the documents one by one."""
    if len(ids) != documents or len(set(ids)) != documents:
        raise ConfigurationError(
            f"expected one distinct id for each of the {documents} documents, got {len(ids)} ids, "
            f"{len(set(ids))} of them distinct"
        )
    wrong = next((i for i in ids if not isinstance(i, str) or "\0" in i), None)
    if wrong is not None:
        raise ConfigurationError(f"expected ids to be str without NUL characters, got {wrong!r}")


def read_array(path: Path, *, mmap: bool = True) -> Ints:
    """Read a ``.npy`` file, or map it read-only.

    Raises:
        DataError: The file is missing or damaged.
    """
    try:
        found: Ints = np.load(path, mmap_mode="r" if mmap else None, allow_pickle=False)
        return found
    # numpy reads the header as a Python literal, so a damaged one fails as damaged Python does.
    except (OSError, ValueError, EOFError, SyntaxError, TypeError, TokenError) as error:
        raise DataError(
            f"expected an array in {path}, but it cannot be read ({type(error).__name__}: "
            f"{error}); make its folder again"
        ) from error


def _check_arrays(arrays: dict[str, Ints], documents: int, terms: int) -> None:
    """Raise ValueError for arrays that do not belong to one index of this size."""
    pointers, rows = arrays["pointers"], arrays["documents"]
    size = int(pointers[-1]) if pointers.shape == (terms + 1,) else 0
    for name, (dtype, sizes) in ARRAYS.items():
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


def _inverse_norms(lengths: Ints, k1: float, b: float) -> Floats:
    """Return 1 / norm for each document; infinity for one without text."""
    average = np.float32(lengths.sum() / max(np.count_nonzero(lengths), 1))
    one, k1_, b_ = np.float32(1), np.float32(k1), np.float32(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = b_ * _quantised(lengths).astype(np.float32) / average
        inverse = one / (k1_ * ((one - b_) + relative))
    inverse[lengths == 0] = np.inf
    return inverse.astype(np.float32)


def _idf(document_frequencies: Ints, documents: int) -> Floats:
    """Return Lucene's inverse document frequency."""
    ratio = (documents - document_frequencies + 0.5) / (document_frequencies + 0.5)
    return np.log(1 + ratio).astype(np.float32)


def _score(weights: Floats, frequencies: Ints, inverse_norms: Floats) -> Floats:
    """Return ``w - w / (1 + tf / norm)`` in float32."""
    saturation = np.float32(1) + frequencies.astype(np.float32) * inverse_norms
    return weights - weights / saturation
