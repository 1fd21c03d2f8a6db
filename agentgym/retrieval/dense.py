"""Dense retrieval: passages and queries as vectors of an encoder, compared by inner product.

Up to :data:`EXACT` passages every vector is compared, by numpy; beyond, usearch proposes
candidates by an approximate index of its own (HNSW), which are then compared exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym import options
from agentgym.errors import ConfigurationError, DataError, EnvFailure, require
from agentgym.retrieval.bm25 import read_array
from agentgym.retrieval.contents import join_contents
from agentgym.retrieval.passages import PassageStore
from agentgym.retrieval.retriever import LONGEST_QUERY, Hit

Vectors = npt.NDArray[np.float32]
Encode = Callable[[list[str]], Any]

EXACT = 200_000
"""Most passages whose vectors are all compared with each query."""
VECTORS = "dense.npy"
GRAPH = "dense.usearch"
BLOCK = 1 << 14
"""Vectors compared at a time: bounds the memory."""
CANDIDATES = 4
"""How many times the wanted number usearch proposes, and at least :data:`FEWEST`."""
FEWEST = 32


@dataclass(frozen=True)
class DenseEncoder:
    """How texts become vectors.

    For e5 the prefixes are ``"query: "`` and ``"passage: "``. An encoder whose vectors are compared
    by cosine has to normalise them.
    """

    encode: Encode
    """Turns n texts into an array [n, dimensions] of finite numbers."""
    query_prefix: str = ""
    """Text put before each query."""
    passage_prefix: str = ""
    """Text put before each passage, which is its title in quotation marks and its text."""
    batch: int = 64
    """Most texts given to ``encode`` at a time."""
    exact: bool | None = None
    """Whether all vectors are compared; None: up to :data:`EXACT` passages. Decides at building."""

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

    def vectors(self, texts: list[str]) -> Vectors:
        """Encode texts.

        Raises:
            EnvFailure: The encoder failed, or returned something else than finite vectors.
        """
        parts = []
        for first in range(0, len(texts), self.batch):
            some = texts[first : first + self.batch]
            try:
                found = np.asarray(self.encode(some), np.float32)
            except Exception as error:
                raise EnvFailure(
                    f"expected the encoder to encode {len(some)} texts, but it failed with "
                    f"{type(error).__name__}: {error}"
                ) from error
            if found.ndim != 2 or len(found) != len(some) or not np.isfinite(found).all():
                raise EnvFailure(
                    f"expected the encoder to return an array [{len(some)}, dimensions] of finite "
                    f"numbers, got one of shape {found.shape}; correct the encoder"
                )
            parts.append(found)
        return np.concatenate(parts)


def write_vectors(
    store: PassageStore,
    folder: Path,
    encoder: DenseEncoder,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, Any]:
    """Encode the passages of a store, batch by batch, into a file of a folder.

    Args:
        store: At least one passage.
        folder: Where to write.
        encoder: What encodes.
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
    vectors = None
    for first in range(0, len(store), encoder.batch):
        rows = range(first, min(first + encoder.batch, len(store)))
        found = encoder.vectors([
            encoder.passage_prefix + join_contents(store.title(row), store.text(row))
            for row in rows
        ])  # fmt: skip
        if vectors is None:
            vectors = np.lib.format.open_memmap(
                folder / VECTORS, "w+", np.float32, (len(store), found.shape[1])
            )
        if found.shape[1] != vectors.shape[1]:
            raise EnvFailure(
                f"expected vectors of {vectors.shape[1]} dimensions, got {found.shape[1]} for "
                f"passages {first} to {rows[-1]}; correct the encoder"
            )
        vectors[first : first + len(found)] = found
        progress(rows[-1] + 1)
    assert vectors is not None
    vectors.flush()
    if not exact:
        _write_graph(vectors, folder / GRAPH)
    return {"dimensions": vectors.shape[1], "exact": exact,
            "query_prefix": encoder.query_prefix,
            "passage_prefix": encoder.passage_prefix}  # fmt: skip


def _write_graph(vectors: Vectors, path: Path) -> None:
    """Index vectors for approximate search; by one thread, so that the graph is always the same."""
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
        folder: What :func:`~agentgym.retrieval.building.build_index` made with the encoder.
        encoder: The encoder, of which the queries need ``encode`` and ``query_prefix``.

    Raises:
        DataError: The folder holds no such index.
        DependencyNotInstalled: The index is one of usearch's, which is missing.
    """

    def __init__(self, folder: str | Path, encoder: DenseEncoder) -> None:
        self.folder = Path(folder)
        self.encoder = encoder
        self.store = PassageStore(self.folder)
        self._vectors: Vectors = read_array(self.folder / VECTORS)
        if self._vectors.ndim != 2 or len(self._vectors) != len(self.store):
            raise DataError(
                f"expected {len(self.store)} vectors in {self.folder / VECTORS}, got an array of "
                f"shape {self._vectors.shape}; build the index again"
            )
        self._graph: Any = None
        self._one_at_a_time = threading.Lock()
        if (self.folder / GRAPH).exists():
            self._open_graph()

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find the best passages for each query; equal scores in the order of the passages.

        Raises:
            EnvFailure: The encoder fails, or the passages cannot be read any more.
            ConfigurationError: ``k`` is below 1.
        """
        options.integer(k, "k", 1)
        found: list[list[Hit]] = [[] for _ in queries]
        places = [place for place, query in enumerate(queries) if query.strip()]
        if not places:
            return found
        prefix = self.encoder.query_prefix
        texts = [prefix + queries[place][:LONGEST_QUERY] for place in places]
        vectors = self.encoder.vectors(texts)
        if vectors.shape[1] != self._vectors.shape[1]:
            raise EnvFailure(
                f"expected vectors of {self._vectors.shape[1]} dimensions, as in {self.folder}, "
                f"got {vectors.shape[1]}; use the encoder with which the index was built"
            )
        rank = self._all if self._graph is None else self._proposed
        for place, vector in zip(places, vectors, strict=True):
            found[place] = self._hits(*rank(vector, k))
        return found

    def close(self) -> None:
        """Release the files; nothing can be searched afterwards."""
        self._vectors, self._graph = np.empty((0, 0), np.float32), None
        self.store.close()

    def __reduce__(self) -> Any:
        """Travel as the path and the encoder."""
        return partial(DenseRetriever, self.folder, self.encoder), ()

    # -- parts ----------------------------------------------------------------------------------

    def _all(self, vector: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Compare all vectors with one query; queries share no arithmetic, so none shifts another.

        A product of matrices would round differently with the number of queries.
        """
        rows, scores = np.empty(0, np.int64), np.empty(0, np.float32)
        for first in range(0, len(self._vectors), BLOCK):
            more = self._vectors[first : first + BLOCK] @ vector
            best = _best(more, k)
            rows = np.concatenate([rows, best + first])
            scores = np.concatenate([scores, more[best]])
            kept = _best(scores, k)
            rows, scores = rows[kept], scores[kept]
        return rows, scores

    def _proposed(self, vector: Vectors, k: int) -> tuple[npt.NDArray[np.int64], Vectors]:
        """Compare what usearch proposes."""
        with self._one_at_a_time:
            found = self._graph.search(vector, min(max(CANDIDATES * k, FEWEST), len(self.store)))
        rows = np.sort(found.keys.astype(np.int64))
        scores = self._vectors[rows] @ vector
        kept = _best(scores, k)
        return rows[kept], scores[kept]

    def _hits(self, rows: npt.NDArray[np.int64], scores: Vectors) -> list[Hit]:
        try:
            return [Hit(self.store[row], score) for row, score in
                    zip(rows.tolist(), scores.tolist(), strict=True)]  # fmt: skip
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


def _best(scores: Vectors, k: int) -> npt.NDArray[np.int64]:
    """Return the places of the ``k`` highest scores, best first; equal ones in their order."""
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= least)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:k]
