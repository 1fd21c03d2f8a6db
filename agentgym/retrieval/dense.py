"""Dense retrieval: passages and queries as vectors of an encoder, compared by inner product.

Up to :data:`EXACT` passages every vector is compared, by numpy; beyond, usearch proposes candidates
from an approximate index (HNSW), which are then compared exactly. That index is built in memory,
two bytes for each number of a vector and some hundred for each passage.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.core import options
from agentgym.errors import ConfigurationError, DataError, EnvFailure, require
from agentgym.retrieval.index_facts import UNREADABLE, read_facts
from agentgym.retrieval.passage_text import join_contents
from agentgym.retrieval.passages import PassageStore
from agentgym.retrieval.retriever import LONGEST_QUERY, Hit
from agentgym.retrieval.texts import read_array

Vectors = npt.NDArray[np.float32]
"""One vector [dimensions], or one for each passage or query [n, dimensions]."""
Rows = npt.NDArray[np.int64]
"""Numbers of passages, ascending [found]."""
Encode = Callable[[list[str]], Any]

EXACT = 200_000
"""Maximum number of passages for exhaustive comparison."""
FORMAT = "agentgym.dense/1"
DENSE_FACTS = "dense.json"
VECTORS = "dense.npy"
GRAPH = "dense.usearch"
BLOCK = 1 << 14
"""Vectors that are handled at a time: bounds the memory."""
CANDIDATES = 4
"""How many times the wanted number usearch proposes, and at least :data:`FEWEST`."""
FEWEST = 32


@dataclass(frozen=True)
class DenseEncoder:
    """How to build an index of vectors: an engine for ``build_index``.

    For e5 the prefixes are ``"query: "`` and ``"passage: "``. An encoder whose vectors are compared
    by cosine has to normalise them.
    """

    encode: Encode
    """Turns n texts into an array [n, dimensions] of finite numbers."""
    query_prefix: str = ""
    """Text put before each query; the index remembers it."""
    passage_prefix: str = ""
    """Text put before each passage, which is its title in quotation marks and its text."""
    batch: int = 64
    """Most texts given to ``encode`` at a time."""
    exact: bool | None = None
    """Whether every vector is compared with each query; None: up to :data:`EXACT` passages."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is out of its domain.
        """
        if not callable(self.encode):
            raise ConfigurationError(
                f"expected encode to be a function of a list of texts, got {self.encode!r:.80}"
            )
        for prefix in (self.query_prefix, self.passage_prefix):
            if not isinstance(prefix, str):
                raise ConfigurationError(f"expected a prefix as a str, got {prefix!r:.80}")
        options.integer(self.batch, "batch", 1)
        if self.exact is not None:
            options.flag(self.exact, "exact")


def write_vectors(
    store: PassageStore,
    folder: Path,
    encoder: DenseEncoder,
    progress: Callable[[int], None] = lambda row_count: None,
) -> dict[str, Any]:
    """Encode the passages of a store, batch by batch, into a file of a folder.

    Args:
        store: At least one passage.
        folder: Where to write.
        encoder: The encoder.
        progress: Called with the number of passages that have been encoded.

    Returns:
        The parameters of the index.

    Raises:
        EnvFailure: The encoder failed.
        DependencyNotInstalled: There are many passages, and the package ``usearch`` is missing.
        OSError: The files cannot be written.
    """
    exact = len(store) <= EXACT if encoder.exact is None else encoder.exact
    if not exact:
        require("usearch.index", "search")
    dimensions, longest = _write_array(store, folder / VECTORS, encoder, progress)
    if not exact:
        _write_graph(read_array(folder / VECTORS), folder / GRAPH)
    parameters = {
        "dimensions": dimensions,
        "exact": exact,
        "query_prefix": encoder.query_prefix,
        "passage_prefix": encoder.passage_prefix,
    }
    (folder / DENSE_FACTS).write_text(
        json.dumps({"format": FORMAT, "longest": longest, **parameters})
    )
    return parameters


def _write_array(
    store: PassageStore, path: Path, encoder: DenseEncoder, progress: Callable[[int], None]
) -> tuple[int, float]:
    """Write the vectors of all passages; return their dimensions and the length of the longest."""
    dimensions, longest = 0, 0.0
    with path.open("wb") as file:
        for rows, vectors in _encoded_passages(store, encoder):
            if not dimensions:
                dimensions = vectors.shape[1]
                head = {"descr": "<f4", "fortran_order": False, "shape": (len(store), dimensions)}
                np.lib.format.write_array_header_1_0(file, head)
            if vectors.shape[1] != dimensions:
                raise EnvFailure(
                    f"expected vectors of {dimensions} dimensions, got {vectors.shape[1]} for "
                    f"passages {rows[0]} to {rows[-1]}; correct the encoder"
                )
            longest = max(longest, float(np.linalg.norm(vectors, axis=1).max()))
            file.write(vectors.astype("<f4").tobytes())
            progress(rows[-1] + 1)
    return dimensions, longest


def _encoded_passages(
    store: PassageStore, encoder: DenseEncoder
) -> Iterator[tuple[range, Vectors]]:
    """Yield the vectors of the passages, batch by batch, and which rows they are."""
    passages = iter(store)
    for first in range(0, len(store), encoder.batch):
        some = list(islice(passages, encoder.batch))
        texts = [join_contents(passage.title, passage.text) for passage in some]
        rows = range(first, first + len(some))
        yield rows, _encoded(encoder.encode, [encoder.passage_prefix + text for text in texts])


def _encoded(encode: Encode, texts: list[str]) -> Vectors:
    """Encode n texts as vectors [n, dimensions], and check the result."""
    try:
        vectors = np.asarray(encode(texts), np.float32)
    except Exception as error:
        raise EnvFailure(
            f"expected the encoder to encode {len(texts)} texts, but it failed with "
            f"{type(error).__name__}: {error}"
        ) from error
    fits = vectors.ndim == 2 and len(vectors) == len(texts) and vectors.size > 0
    if not fits or not np.isfinite(vectors).all():
        raise EnvFailure(
            f"expected the encoder to return an array [{len(texts)}, dimensions] of finite "
            f"numbers, got one of shape {vectors.shape}; correct the encoder"
        )
    return vectors


def _write_graph(vectors: Vectors, path: Path) -> None:
    """Index vectors [passages, dimensions] for approximate search."""
    # By one thread, so that the graph is always the same.
    graph = _graph(vectors.shape[1])
    for first in range(0, len(vectors), BLOCK):
        block = vectors[first : first + BLOCK]
        graph.add(np.arange(first, first + len(block), dtype=np.uint64), block, threads=1)
    graph.save(str(path))


def _graph(dimensions: int) -> Any:
    return require("usearch.index", "search").Index(ndim=dimensions, metric="ip", dtype="f16")


class DenseRetriever:
    """Searches passages by vectors that are mapped into memory; safe for threads.

    A pickle holds the path and the encoder.

    Args:
        folder: A folder written by :func:`~agentgym.retrieval.index_builder.build_index` with the
            encoder.
        encode: The encoder, as in :class:`DenseEncoder`.
        batch: Most queries given to it at a time.

    Raises:
        DataError: The folder holds no such index.
        DependencyNotInstalled: The index is one of usearch's, which is missing.
    """

    def __init__(self, folder: str | Path, encode: Encode, *, batch: int = 64) -> None:
        self.folder = Path(folder)
        self.encode = encode
        self.batch = options.integer(batch, "batch", 1)
        self.query_prefix, self._longest, exact = _facts(self.folder / DENSE_FACTS)
        self.store = PassageStore(self.folder)
        self._vectors: Vectors = read_array(self.folder / VECTORS)
        if self._vectors.ndim != 2 or len(self._vectors) != len(self.store):
            raise DataError(
                f"expected {len(self.store)} vectors in {self.folder / VECTORS}, got an array of "
                f"shape {self._vectors.shape}; build the index again"
            )
        self._graph: Any = None
        self._one_at_a_time = threading.Lock()
        if not exact:
            self._open_graph()

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find the best passages for each query; equal scores in the order of the passages.

        Raises:
            EnvFailure: The encoder fails, or the passages cannot be read any more.
            ConfigurationError: ``k`` is below 1.
        """
        options.integer(k, "k", 1)
        if not self._vectors.size:
            raise EnvFailure(f"expected to search the index in {self.folder}, but it is closed")
        hits: list[list[Hit]] = [[] for _ in queries]
        places = [place for place, query in enumerate(queries) if query.strip()]
        if not places:
            return hits
        texts = [self.query_prefix + queries[place][:LONGEST_QUERY] for place in places]
        vectors = np.concatenate([
            _encoded(self.encode, texts[first : first + self.batch])
            for first in range(0, len(texts), self.batch)
        ])  # fmt: skip
        if vectors.shape[1] != self._vectors.shape[1]:
            raise EnvFailure(
                f"expected vectors of {self._vectors.shape[1]} dimensions, as in {self.folder}, "
                f"got {vectors.shape[1]}; use the encoder with which the index was built"
            )
        select = self._all_rows if self._graph is None else self._proposed
        for place, vector in zip(places, vectors, strict=True):
            if vector.any():  # otherwise the encoder would ignore the query
                hits[place] = self._ranked(select(vector, k), vector, k)
        return hits

    def close(self) -> None:
        """Release the files; nothing can be searched afterwards."""
        self._vectors, self._graph = np.empty((0, 0), np.float32), None
        self.store.close()

    def __reduce__(self) -> Any:
        """Travel as the path and the encoder."""
        return partial(DenseRetriever, batch=self.batch), (self.folder, self.encode)

    # -- parts ----------------------------------------------------------------------------------

    def _all_rows(self, vector: Vectors, k: int) -> Rows:
        """Return the rows that can be among the best ``k`` for a vector [dimensions].

        How a product with a matrix rounds depends on the place of a row in it. Its error is below
        ``dimensions * 2**-24 * |row| * |vector|``; rows within twice that error are compared again.
        """
        scores = self._vectors @ vector
        if len(scores) <= k:
            return np.arange(len(scores))
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        error = len(vector) * 2.0**-24 * self._longest * float(np.linalg.norm(vector))
        return np.flatnonzero(scores >= last - 2 * error)

    def _proposed(self, vector: Vectors, k: int) -> Rows:
        """Return the rows that usearch proposes."""
        with self._one_at_a_time:
            matches = self._graph.search(vector, min(max(CANDIDATES * k, FEWEST), len(self.store)))
        return np.sort(matches.keys.astype(np.int64))

    def _ranked(self, rows: Rows, vector: Vectors, k: int) -> list[Hit]:
        """Compare rows in 64 bits, each on its own, and return the best ``k``."""
        scores = np.concatenate([
            (self._vectors[rows[first : first + BLOCK]] * vector.astype(np.float64)).sum(axis=1)
            for first in range(0, len(rows), BLOCK)
        ]).astype(np.float32)  # fmt: skip
        best = np.argsort(-scores, kind="stable")[:k]
        try:
            return [Hit(self.store[row], score) for row, score in
                    zip(rows[best].tolist(), scores[best].tolist(), strict=True)]  # fmt: skip
        except DataError as error:
            raise EnvFailure(f"the search engine failed: {error}") from error

    def _open_graph(self) -> None:
        """Map the approximate index into memory."""
        path = self.folder / GRAPH
        self._graph = _graph(self._vectors.shape[1])
        try:
            self._graph.view(str(path))
            fits = len(self._graph) == len(self.store)
        except Exception as error:
            raise DataError(
                f"expected an index of usearch's in {path}, but it cannot be opened ({error}); "
                "build it again"
            ) from error
        if not fits:
            raise DataError(
                f"expected {len(self.store)} vectors in {path}, got {len(self._graph)}; build the "
                "index again"
            )


def _facts(path: Path) -> tuple[str, float, bool]:
    """Read the prefix of queries, the longest vector's length, and whether all are compared."""
    try:
        facts = read_facts(path, FORMAT)
        if not isinstance(facts["query_prefix"], str):
            raise ValueError(f"its prefix of queries is {facts['query_prefix']!r:.80}")
        longest = float(facts["longest"])
        if not math.isfinite(longest):
            raise ValueError(f"its longest vector has the length {longest}")
        return facts["query_prefix"], longest, bool(facts["exact"])
    except UNREADABLE as error:
        raise DataError(
            f"expected {path} to describe an index of format {FORMAT!r}, but it cannot be used "
            f"({type(error).__name__}: {error}); build the index again, with "
            "build_index(corpus, folder, engine=DenseEncoder(...))"
        ) from error
