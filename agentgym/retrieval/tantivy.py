"""BM25 by tantivy, for corpora that are too large for :mod:`agentgym.retrieval.bm25`.

It builds in bounded memory and is small on disk. It receives the terms of our analysis, and queries
are built from terms, so no text reaches its query language. Its parameters are fixed at k1 = 1.2
and b = 0.75; lengths are rounded to one byte in another way than Lucene's, so scores differ a
little from those of :class:`~agentgym.retrieval.bm25.BM25Index`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from agentgym.core import options
from agentgym.errors import DataError, EnvFailure, require
from agentgym.retrieval.bm25.analysis import tokenize
from agentgym.retrieval.passages import PassageStore, indexed_text
from agentgym.retrieval.retriever import LONGEST_QUERY, Hit

TEXT, ROW = "text", "row"
MEMORY = 128_000_000
"""Bytes that the writer may fill before it writes a segment."""
CHUNK = 100_000
"""Passages after which the writer waits for its merges."""


def write_tantivy(
    store: PassageStore, folder: Path, progress: Callable[[int], None] = lambda row_count: None
) -> None:
    """Index the passages of a store in a folder.

    One thread writes, and waits for merges at fixed places: the stored index, and so the last bit
    of each score, then depends on the passages alone, not on the machine's speed.

    Args:
        store: The passages.
        folder: Where to write; files of other names are left alone.
        progress: Called with the number of passages that have been indexed.

    Raises:
        DependencyNotInstalled: The package ``tantivy`` is missing.
        DataError: The passages cannot be read, or the files cannot be written.
    """
    tantivy = require("tantivy", "search")
    # Rows are signed: a Python int in an unsigned field ends the writer's thread.
    schema = (
        tantivy.SchemaBuilder()
        .add_text_field(TEXT, tokenizer_name="whitespace", index_option="freq")
        .add_integer_field(ROW, fast=True)
        .build()
    )
    try:
        _write(tantivy, tantivy.Index(schema, path=str(folder), reuse=False), store, progress)
    except ValueError as error:  # also for a full disk
        raise DataError(
            f"expected tantivy to write an index to {folder}, but: {error}; see that the disk has "
            "room"
        ) from error
    for lock in folder.glob(".tantivy-*.lock"):
        lock.unlink(missing_ok=True)
    progress(len(store))


def _write(tantivy: Any, index: Any, store: PassageStore, progress: Callable[[int], None]) -> None:
    """Add the passages of a store to an index, chunk by chunk."""
    rows = enumerate(store)
    for _ in range(0, max(len(store), 1), CHUNK):
        writer = index.writer(MEMORY, 1)
        for row, passage in islice(rows, CHUNK):
            document = tantivy.Document()
            document.add_text(TEXT, " ".join(tokenize(indexed_text(passage))))
            document.add_integer(ROW, row)
            writer.add_document(document)
            if row % 1000 == 0:
                progress(row)
        writer.commit()
        writer.wait_merging_threads()


class TantivyRetriever:
    """Searches an index of tantivy's; thread-safe, and pickled as its path.

    Args:
        folder: A folder written by :func:`write_tantivy`, with the indexed passages.

    Raises:
        DataError: The folder holds no such index, or one of other passages.
        DependencyNotInstalled: The package ``tantivy`` is missing.
    """

    def __init__(self, folder: str | Path) -> None:
        tantivy = require("tantivy", "search")
        self.folder = Path(folder)
        self.store = PassageStore(self.folder)
        self._tantivy = tantivy
        try:
            index = tantivy.Index.open(str(self.folder))
            index.config_reader("manual")  # otherwise a thread would look for changes
            self._schema = index.schema
            self._searcher = index.searcher()
        except BaseException as error:
            if not _failed(error):
                raise
            raise DataError(
                f"expected an index of tantivy's in {self.folder}, but it cannot be opened "
                f"({error}); build it again, and see that the folder can be written to: tantivy "
                "makes a lock file in it"
            ) from error
        if self._searcher.num_docs != len(self.store):
            raise DataError(
                f"expected an index of {len(self.store)} passages in {self.folder}, got one of "
                f"{self._searcher.num_docs}; build it again"
            )

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find the best passages for each query; equal scores in the order of the passages.

        Raises:
            EnvFailure: Index or passages cannot be read any more.
            ConfigurationError: ``k`` is below 1.
        """
        options.integer(k, "k", 1)
        if self._searcher is None:
            raise EnvFailure(f"expected to search the index in {self.folder}, but it is closed")
        try:
            return [self._search(query, k) for query in queries]
        except BaseException as error:
            if not _failed(error):
                raise
            raise EnvFailure(
                f"expected to search the index in {self.folder}, but: {error}; build it again if "
                "its files were changed"
            ) from error

    def close(self) -> None:
        """Release the files; nothing can be searched afterwards."""
        self._searcher = self._schema = None
        self.store.close()

    def __reduce__(self) -> Any:
        """Travel as the path."""
        return TantivyRetriever, (self.folder,)

    # -- parts ----------------------------------------------------------------------------------

    def _search(self, query: str, k: int) -> list[Hit]:
        """Search for one query."""
        terms = Counter(tokenize(query[:LONGEST_QUERY]))
        if not terms or not len(self.store):
            return []
        make, should = self._tantivy.Query, self._tantivy.Occur.Should
        weighted_query = make.boolean_query(
            [(should, self._term(term, n)) for term, n in terms.items()]
        )
        return [Hit(self.store[row], score) for score, row in self._best(weighted_query, k)]

    def _term(self, term: str, count: int) -> Any:
        """Ask for a term, as many times as the query holds it."""
        make = self._tantivy.Query
        once = make.term_query(self._schema, TEXT, term, "freq")
        return once if count == 1 else make.boost_query(once, float(count))

    def _best(self, weighted_query: Any, k: int) -> list[tuple[float, int]]:
        """Return scores and rows of the best ``k``; equal scores in the order of the rows.

        tantivy orders equal scores by their place in its segments, so all that tie with the last
        one are fetched.
        """
        everything = len(self.store) + 1  # tantivy reserves memory for the requested number of hits
        limit = min(k + 1, everything)
        while True:
            hits = self._searcher.search(weighted_query, limit, count=False).hits
            if len(hits) < limit or hits[k - 1][0] > hits[-1][0]:
                break
            limit = min(4 * limit, everything)
        rows = self._searcher.fast_field_values(ROW, [address for _, address in hits])
        ranked = sorted((-score, row) for (score, _), row in zip(hits, rows, strict=True))
        return [(-score, row) for score, row in ranked[:k]]


def _failed(error: BaseException) -> bool:
    """Return whether it is a failure, among which are panics of tantivy's: no ``Exception``."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
