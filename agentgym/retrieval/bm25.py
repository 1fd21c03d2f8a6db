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
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError, DataError
from agentgym.retrieval import postings
from agentgym.retrieval.analysis import tokenize
from agentgym.retrieval.postings import Floats, Ints

FORMAT = "agentgym.bm25/1"
_ARRAYS = ("pointers", "documents", "frequencies", "impacts", "inverse_norms", "ranks")


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
        vocabulary = postings.Vocabulary()
        lengths, columns = postings.count(documents, vocabulary)
        names = [str(i) for i in range(len(lengths))] if ids is None else list(ids)
        postings.check_ids(names, len(lengths))
        term_ids, rows, frequencies = columns
        pointers = np.zeros(len(vocabulary.terms) + 1, np.int64)
        np.cumsum(np.bincount(term_ids, minlength=len(vocabulary.terms)), out=pointers[1:])
        norms = postings.inverse_norms(lengths, k1, b)
        weights = postings.idf(np.diff(pointers), int(np.count_nonzero(lengths)))
        ranks = np.empty(len(names), np.int32)
        ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        arrays = {
            "pointers": pointers,
            "documents": rows,
            "frequencies": frequencies,
            "impacts": postings.score(weights[term_ids], frequencies, norms[rows]),
            "inverse_norms": norms,
            "ranks": ranks,
        }
        return cls(names, list(vocabulary.terms), arrays, k1=float(k1), b=float(b))

    def save(self, path: str | Path) -> None:
        """Write the index to a folder, which is made if need be.

        Args:
            path: The folder; existing files of an index in it are replaced.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
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
            arrays = {
                name: postings.read_array(folder / f"{name}.npy", mmap=mmap) for name in _ARRAYS
            }
            ids, terms = (
                (folder / f"{name}.txt").read_bytes().decode("utf-8", "surrogatepass").split("\0")
                for name in ("ids", "terms")
            )
            ids, terms = ids if documents else [], terms if len(arrays["pointers"]) > 1 else []
            postings.check_arrays(arrays, documents, len(terms))
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
        return _restore, (list(self.ids), list(self._terms), self._arrays, self.k1, self.b)

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
        idf = postings.idf(np.array([span.stop - span.start]), self._documents_with_text)
        norms = self._arrays["inverse_norms"][self._arrays["documents"][span]]
        return postings.score(idf * np.float32(count), self._arrays["frequencies"][span], norms)


def _restore(
    ids: list[str], terms: list[str], arrays: dict[str, Ints], k1: float, b: float
) -> BM25Index:
    """Rebuild an unpickled index."""
    return BM25Index(ids, terms, arrays, k1=k1, b=b)
