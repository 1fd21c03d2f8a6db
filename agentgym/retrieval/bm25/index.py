"""BM25 ranking equal to Lucene 8's, over numpy arrays that many processes can share.

:mod:`agentgym.retrieval.bm25.similarity` holds the formulas. Scores are summed in float64 and
rounded to float32; ties go to the smaller id.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.core import options
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.retrieval.bm25 import ranking, similarity
from agentgym.retrieval.bm25.analysis import tokenize
from agentgym.retrieval.bm25.inversion import invert
from agentgym.retrieval.bm25.similarity import Floats
from agentgym.retrieval.index_facts import UNREADABLE, read_facts
from agentgym.retrieval.passages import PassageStore
from agentgym.retrieval.retriever import LONGEST_QUERY, Hit
from agentgym.retrieval.texts import PackedTexts, read_array, save_array
from agentgym.support.caching import BoundedCache

FORMAT = "agentgym.bm25/2"
NAME = "bm25"
"""How the names of an index's files begin, so that they can lie in a folder with others."""
CACHED_TERMS = 1 << 14
ARRAYS = {
    "pointers": ((np.int64,), "terms"),
    "documents": ((np.int32,), "postings"),
    "codes": ((np.uint16, np.uint32), "postings"),
    "highest": ((np.uint16, np.uint32), "terms"),
    "weights": ((np.float32,), "terms"),
    "saturations": ((np.float32,), "codes"),
    "ranks": ((np.int32,), "documents"),
}
"""Types and size of each array of an index; ``pointers`` has one entry more."""


class BM25Index:
    """An immutable inverted index.

    Build one with :meth:`build` or :meth:`open`.

    Args:
        ids: Document ids, in the order of the documents.
        terms: The vocabulary, sorted.
        arrays: The arrays of :class:`~agentgym.retrieval.bm25.inversion.Inverted` by name, and
            ``ranks`` (int32, documents: place of the id in sorted order).
        k1: Saturation of the term frequency.
        b: Strength of the length normalisation.
        path: Folder that the index was opened from, if any; pickles then carry only the path.
    """

    def __init__(
        self,
        ids: Sequence[str],
        terms: PackedTexts,
        arrays: dict[str, npt.NDArray[Any]],
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
        self._numbers: BoundedCache[str, int] = BoundedCache(CACHED_TERMS)

    # -- building and storing -------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        ids: Iterable[str] | None = None,
        *,
        k1: float = 0.9,
        b: float = 0.4,
    ) -> BM25Index:
        """Index documents.

        Args:
            documents: The texts, read once.
            ids: One distinct id per document; ``"0"``, ``"1"``, ... if left out. Equal scores are
                ordered by id, so ids decide ties. Asked for after the last document.
            k1: Saturation of the term frequency, above 0.
            b: Strength of the length normalisation, from 0 to 1.

        Returns:
            The index, in memory.

        Raises:
            ConfigurationError: ``k1`` or ``b`` is out of range, the ids do not fit, or there are
                more than two million documents.
        """
        if not (math.isfinite(k1) and k1 > 0 and 0 <= b <= 1):
            raise ConfigurationError(f"expected k1 > 0 and 0 <= b <= 1, got k1={k1}, b={b}")
        inversion = invert(documents, k1, b)
        size = len(inversion.lengths)
        names = [str(i) for i in range(size)] if ids is None else list(ids)
        parts = {**inversion._asdict(), "ranks": _ranks(names, size)}
        arrays = {name: parts[name] for name in ARRAYS}
        return cls(names, inversion.terms, arrays, k1=float(k1), b=float(b))

    def save(self, path: str | Path) -> None:
        """Write the index to a folder, in place of another one that is there."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ARRAYS:
            save_array(folder / f"{NAME}.{name}.npy", self._arrays[name])
        PackedTexts.pack(self.ids).save(folder, f"{NAME}.ids")
        self._terms.save(folder, f"{NAME}.terms")
        facts = {"format": FORMAT, "k1": self.k1, "b": self.b, "documents": len(self)}
        (folder / f"{NAME}.json").write_text(json.dumps(facts))

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
                damaged is stored with :func:`agentgym.support.caching.save_folder`.
        """
        folder = Path(path)
        try:
            facts = read_facts(folder / f"{NAME}.json", FORMAT)
            k1, b = float(facts["k1"]), float(facts["b"])
            arrays = {name: read_array(folder / f"{NAME}.{name}.npy", mmap=mmap) for name in ARRAYS}
            ids = PackedTexts.open(folder, f"{NAME}.ids", mmap=mmap)
            terms = PackedTexts.open(folder, f"{NAME}.terms", mmap=mmap)
            _check(arrays, facts["documents"], len(ids), len(terms))
        except UNREADABLE as error:
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
            DataError: The index is damaged.
        """
        rows, scores = self.search_rows(query, k)
        ids = self.ids
        return [ids[row] for row in rows.tolist()], scores

    def search_rows(self, query: str, k: int = 10) -> tuple[npt.NDArray[np.int64], Floats]:
        """Rank documents as :meth:`search` does, but return their positions instead of ids."""
        if k < 1:
            raise ConfigurationError(f"expected k to be at least 1, got {k}")
        try:
            if postings := self.postings(query):
                return ranking.best(postings, self._arrays["ranks"], k)
            return np.empty(0, np.int64), np.empty(0, np.float32)
        except (IndexError, ValueError) as error:
            raise DataError(
                f"expected a whole BM25 index in {self._path}, but it is damaged ({error}); build "
                "it again with BM25Index.build(...).save(...)"
            ) from error

    def postings(self, query: str) -> list[ranking.Postings]:
        """Return the postings of the query's terms that the index knows, in the query's order."""
        counts = {self._number(text): n for text, n in Counter(tokenize(query)).items()}
        counts.pop(-1, None)
        arrays, size, postings = self._arrays, len(self), []
        weights = arrays["weights"][list(counts)] * np.array(list(counts.values()), np.float32)
        tables = similarity.scores(weights[:, None], arrays["saturations"])
        for number, by_code in zip(counts, tables, strict=True):
            span = slice(*arrays["pointers"][number : number + 2].tolist())
            rows = arrays["documents"][span]
            if rows[0] < 0 or rows[-1] >= size:  # they ascend
                raise ValueError("documents.npy names documents that are not there")
            highest = arrays["highest"].item(number)
            postings.append(ranking.Postings(rows, arrays["codes"][span], by_code, highest))
        return postings

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self._terms.nbytes + sum(values.nbytes for values in self._arrays.values())

    def __reduce__(self) -> Any:
        """Pickle an opened index as its path, another one by content."""
        if self._path is not None:
            return BM25Index.open, (self._path,)
        factory = partial(BM25Index, k1=self.k1, b=self.b)
        return factory, (self.ids, self._terms, self._arrays)

    # -- parts ----------------------------------------------------------------------------------

    def _number(self, text: str) -> int:
        """Return the number of a term; -1 if the index does not know it."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers.put(text, self._terms.find(text))
        return number


class BM25Retriever:
    """A :class:`~agentgym.retrieval.retriever.Retriever` over an index and the passages it ranks.

    Args:
        index: The index; documents are rows of the store.
        store: The passages.

    Raises:
        DataError: Index and store differ in size.
    """

    K1, B = 1.2, 0.75
    """The parameters for passages; their titles count twice."""

    def __init__(self, index: BM25Index, store: PassageStore) -> None:
        if len(index) != len(store):
            raise DataError(
                f"expected an index of the {len(store)} passages in {store.folder}, got one of "
                f"{len(index)} documents; build the index again"
            )
        self.index = index
        self.store = store

    @classmethod
    def open(cls, folder: str | Path) -> BM25Retriever:
        """Open a folder that holds both.

        Raises:
            DataError: Passages or index are missing, damaged or do not fit together.
        """
        return cls(BM25Index.open(folder), PassageStore(folder))

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find the best passages for each query; see the protocol.

        Raises:
            ConfigurationError: ``k`` is below 1.
            EnvFailure: Index or passages are damaged.
        """
        options.integer(k, "k", 1)
        try:
            return [self._hits(query, k) for query in queries]
        except DataError as error:
            raise EnvFailure(f"the search engine failed: {error}") from error

    def close(self) -> None:
        """Release the passages; may be called twice."""
        self.store.close()

    def _hits(self, query: str, k: int) -> list[Hit]:
        rows, scores = self.index.search_rows(query[:LONGEST_QUERY], k)
        return [
            Hit(self.store[row], score)
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]


def _ranks(ids: Sequence[str], documents: int) -> npt.NDArray[np.int32]:
    """Return the place of each id in sorted order [documents]; refuse ids that do not fit."""
    if len(ids) != documents:
        raise ConfigurationError(
            f"expected one distinct id for each of the {documents} documents, got {len(ids)}"
        )
    not_text = next((i for i in ids if not isinstance(i, str)), None)
    if not_text is not None:
        raise ConfigurationError(f"expected ids to be str, got {not_text!r}")
    order = sorted(range(documents), key=ids.__getitem__)
    twice = next((ids[i] for i, j in pairwise(order) if ids[i] == ids[j]), None)
    if twice is not None:
        raise ConfigurationError(f"expected distinct ids, got {twice!r} more than once")
    ranks = np.empty(documents, np.int32)
    ranks[order] = np.arange(documents, dtype=np.int32)
    return ranks


def _check(arrays: dict[str, npt.NDArray[Any]], documents: Any, ids: int, terms: int) -> None:
    """Raise ValueError for parts that do not belong to one index."""
    pointers = arrays["pointers"]
    codes = arrays["saturations"].size
    postings = int(pointers[-1]) if pointers.shape == (terms + 1,) else 0
    sizes = {"terms": terms, "postings": postings, "documents": documents, "codes": codes}
    for name, (dtypes, size) in ARRAYS.items():
        length = sizes[size] + (name == "pointers")
        stored = arrays[name]
        if stored.dtype not in dtypes or stored.shape != (length,):
            raise ValueError(
                f"{NAME}.{name}.npy should hold {length} of {np.dtype(dtypes[0])}, not "
                f"{stored.shape} of {stored.dtype}"
            )
    if pointers[0] or np.any(pointers[1:] <= pointers[:-1]):
        raise ValueError(f"{NAME}.pointers.npy does not rise from 0")
    if arrays["highest"].max(initial=0) >= max(codes, 1):
        raise ValueError(f"{NAME}.highest.npy names more than {codes} saturations")
    if ids != documents:
        raise ValueError(f"it has {documents} documents and {ids} ids")
