"""Index folders: built completely or not at all, and opened by their metadata.

A folder holds the passages (:mod:`agentgym.retrieval.passages`), the files of one engine, and
``index.json``, which names format, engine and number of passages, and the size and SHA-256 of every
file, and is written last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.core import options
from agentgym.errors import ConfigurationError, DataError, require
from agentgym.retrieval.bm25 import BM25Index, BM25Retriever
from agentgym.retrieval.bm25.inversion import MOST_DOCUMENTS
from agentgym.retrieval.corpora.corpus import Corpus, IdSet
from agentgym.retrieval.dense import DenseEncoder, DenseRetriever, Encode, write_vectors
from agentgym.retrieval.index_facts import UNREADABLE, read_facts
from agentgym.retrieval.index_folder import published
from agentgym.retrieval.passages import STORE_FACTS, PassageStore, PassageWriter, indexed_text
from agentgym.retrieval.retriever import Passage, Retriever
from agentgym.retrieval.tantivy import TantivyRetriever, write_tantivy
from agentgym.support.caching import checked_entries, difference, file_entry, write_atomically

FORMAT = "agentgym.index/1"
INDEX_FACTS = "index.json"
INDEXES = ("bm25", "tantivy")
"""Indexes that are chosen by name; the third is a :class:`~agentgym.retrieval.dense.DenseEncoder`.
"""
LARGEST_HASHED = 4 << 30
"""Most bytes of an index whose files are read whole before it is opened, which takes seconds; those
of a larger one are only asked for their sizes."""
EVERY = 1000
"""Passages between two reports of progress."""

_OWN = re.compile(
    r"(?:index|meta)\.json|(?:passages|bm25|dense)\..+|[0-9a-f]{32}\..+|\..+"
).fullmatch
"""Names of the files of an index, of which tantivy's begin with a number of its segment; and hidden
ones, which systems leave in folders."""


class IndexProgress(NamedTuple):
    """Progress of a build."""

    stage: str
    """``"reading"`` the corpus, or ``"indexing"`` it."""
    passages: int
    """Passages of this stage so far."""
    share: float | None
    """Done of this stage, from 0 to 1; None where the corpus has no known size."""


Report = Callable[[IndexProgress], None]


def build_index(
    corpus: str | Path | Iterable[Passage],
    folder: str | Path,
    *,
    index: str | DenseEncoder = "bm25",
    overwrite: bool = False,
    progress: Report = lambda state: None,
) -> int:
    """Index a corpus, in a folder that appears when it is complete.

    A killed build leaves nothing under the folder's name; the next one removes its scratch folder
    and starts over. Passages are streamed, never all in memory.

    Args:
        corpus: Path of a file or folder that :class:`~agentgym.retrieval.corpora.corpus.Corpus`
            reads, such a corpus, or any passages.
        folder: Destination; it must not exist, or be empty.
        index: ``"bm25"`` (up to two million passages), ``"tantivy"`` (any number), or an encoder.
        overwrite: Whether to replace an existing index, unless its folder contains other files.
        progress: Called regularly.

    Returns:
        The number of passages.

    Raises:
        DataError: The corpus cannot be used; the message names the line.
        ConfigurationError: The folder is in use or cannot be written, or the index is unknown.
        DependencyNotInstalled: The index's package is missing.
        EnvFailure: The encoder failed.
    """
    _check_index(index)
    passages = Corpus(corpus) if isinstance(corpus, str | Path) else corpus
    with published(folder, _is_index, overwrite=overwrite) as scratch:
        return write_index(passages, scratch, index=index, progress=progress)


def write_index(
    passages: Iterable[Passage],
    folder: Path,
    *,
    index: str | DenseEncoder = "bm25",
    progress: Report = lambda state: None,
) -> int:
    """Write passages and an index of them into a folder that is there.

    This is :func:`build_index` without its locking and renaming, for folders that are made by other
    means, such as :func:`agentgym.support.caching.save_folder`.

    Returns:
        The number of passages.

    Raises:
        DataError: There are no passages, two have one id, or they cannot be read.
        ConfigurationError: There are too many for the index.
        DependencyNotInstalled: The index's package is missing.
    """
    _check_index(index)
    _write_passages(passages, folder, MOST_DOCUMENTS if index == "bm25" else None, progress)
    store = PassageStore(folder)
    try:
        parameters = _write_index(store, folder, index, progress)
    finally:
        store.close()
    name = index if isinstance(index, str) else "dense"
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] != ".")
    facts = {
        "format": FORMAT, "engine": name, "passages": len(store), "parameters": parameters,
        "files": {path.name: file_entry(path) for path in files},
    }  # fmt: skip
    write_atomically(folder / INDEX_FACTS, json.dumps(facts, indent=1).encode())
    return len(store)


def open_index(
    folder: str | Path, encode: Encode | None = None, *, hashed: bool | None = None
) -> Retriever:
    """Open an index for searching.

    Args:
        folder: A folder written by :func:`build_index`.
        encode: The function that encoded the passages, for an index that was built with one.
        hashed: Whether to compare the SHA-256 of every file with that of the build, or only the
            sizes; None: the hashes of up to :data:`LARGEST_HASHED` bytes.

    Raises:
        DataError: The folder holds no index, a damaged one, or one of another version.
        ConfigurationError: The index needs an encoder.
        DependencyNotInstalled: The index's package is missing.
    """
    path = Path(folder)
    facts = _facts(path)
    _check_files(path, facts, hashed)
    try:
        retriever = _open_index(path, facts["engine"], encode)
    except DataError as error:
        raise DataError(f"{error} ({_rebuilding(path, facts['engine'])})") from error
    if len(retriever.store) != facts["passages"]:
        retriever.close()
        raise DataError(
            f"expected {facts['passages']} passages in {path}, got {len(retriever.store)}; build "
            "the index again"
        )
    return retriever


def _check_index(index: str | DenseEncoder) -> None:
    """Find out before the corpus is read whether the package of its index is there."""
    if not isinstance(index, DenseEncoder):
        options.choice(index, "index", INDEXES)
    if index == "tantivy":
        require("tantivy", "search")


def _write_passages(
    passages: Iterable[Passage], folder: Path, limit: int | None, progress: Report
) -> None:
    """Store passages, whose ids must differ."""
    ids = IdSet()
    corpus = passages if isinstance(passages, Corpus) else None
    with PassageWriter(folder) as writer:
        for passage in _checked_source(passages):
            if not ids.add(passage.id):
                _refuse_twice(passage, corpus)
                continue
            if len(writer) == limit:
                raise ConfigurationError(
                    f"expected at most {limit:,} passages for the index bm25, got more; choose the "
                    "index tantivy (agentgym index --index tantivy)"
                )
            if writer.add(passage) % EVERY == 0:
                share = corpus.bytes_read / max(corpus.size, 1) if corpus else None
                progress(IndexProgress("reading", len(writer), share))
        if not len(writer):
            source = f" in {corpus.path}" if corpus else ""
            left_out = f"; first of {corpus.broken}: {corpus.first_problem}" if (
                corpus and corpus.broken) else ""  # fmt: skip
            raise DataError(f"expected passages{source}, got none{left_out}")
        progress(IndexProgress("reading", len(writer), 1.0))


def _checked_source(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Pass passages on; where they cannot be read, that is no failure to write the index."""
    try:
        yield from passages
    except OSError as error:
        raise DataError(
            f"expected to read passages, but the iterable of passages raised "
            f"{type(error).__name__}: {error}; see that it can read its source"
        ) from error


def _refuse_twice(passage: Passage, corpus: Corpus | None) -> None:
    """Report an id that came before."""
    if corpus is not None:
        corpus.refuse("an id of its own for every passage", f"{passage.id!r} for the second time")
        return
    raise DataError(
        f"expected an id of its own for every passage, got {passage.id!r:.200} twice; make ids "
        "distinct"
    )


def _write_index(
    store: PassageStore, folder: Path, index: str | DenseEncoder, progress: Report
) -> dict[str, Any]:
    """Write the files of an index; return its parameters."""

    def report(passage_count: int) -> None:
        progress(IndexProgress("indexing", passage_count, passage_count / len(store)))

    if isinstance(index, DenseEncoder):
        return write_vectors(store, folder, index, report)
    if index == "tantivy":
        write_tantivy(store, folder, report)
    else:
        built = BM25Index.build(
            _counted(map(indexed_text, store), report),
            (passage.id for passage in store),
            k1=BM25Retriever.K1,
            b=BM25Retriever.B,
        )
        built.save(folder)
        report(len(store))
    return {"k1": BM25Retriever.K1, "b": BM25Retriever.B}


def _counted(texts: Iterable[str], report: Callable[[int], None]) -> Iterator[str]:
    """Pass texts on and report how many there were."""
    for number, text in enumerate(texts):
        if number % EVERY == 0:
            report(number)
        yield text


def _open_index(
    folder: Path, index: str, encode: Encode | None
) -> BM25Retriever | TantivyRetriever | DenseRetriever:
    """Open the index that :func:`_write_index` wrote."""
    if index == "bm25":
        return BM25Retriever.open(folder)
    if index == "tantivy":
        return TantivyRetriever(folder)
    if encode is None:
        raise ConfigurationError(
            f"expected the encoder of the dense index in {folder}, got none; in Python, open it "
            "with open_index(folder, encode), where encode is the function that built it"
        )
    return DenseRetriever(folder, encode)


def _remedy(folder: Path) -> str:
    return f"make one with: agentgym index CORPUS --out {folder}"


def _rebuilding(folder: Path, index: str) -> str:
    """Say how a damaged index is made again: one with vectors needs its encoder."""
    if index == "dense":
        return (
            "make it again in Python: build_index(corpus, folder, index=DenseEncoder(encode), "
            "overwrite=True)"
        )
    return f"{_remedy(folder)} --index {index} --overwrite"


def _check_files(folder: Path, facts: Mapping[str, Any], hashed: bool | None) -> None:
    """Compare the files of an index with the recorded sizes and hashes."""
    if hashed is None:
        hashed = sum(entry["size"] for entry in facts["files"].values()) <= LARGEST_HASHED
    for name, entry in facts["files"].items():
        if problem := difference(folder / name, entry, content=hashed):
            raise DataError(f"{problem} ({_rebuilding(folder, facts['engine'])})")


def _is_index(folder: Path) -> bool:
    """Return whether a folder holds an index and nothing else, and so may be replaced."""
    if not folder.is_dir():
        return False
    names = {path.name if path.is_file() else "" for path in folder.iterdir()}
    return {INDEX_FACTS, STORE_FACTS} <= names and all(map(_OWN, names))


def _facts(folder: Path) -> dict[str, Any]:
    """Read the metadata of an index folder."""
    path = folder / INDEX_FACTS
    if not path.is_file():
        actual = "a folder without index.json" if folder.is_dir() else "no such folder"
        raise DataError(f"expected an index in {folder}, got {actual}; {_remedy(folder)}")
    try:
        facts = read_facts(path, FORMAT)
        if facts["engine"] not in (*INDEXES, "dense"):
            raise ValueError(f"its engine is {facts['engine']!r}")
        if not isinstance(facts["passages"], int) or not isinstance(facts["parameters"], dict):
            raise ValueError("passages or parameters are missing")
        facts["files"] = checked_entries(facts["files"])
    except UNREADABLE as error:
        raise DataError(
            f"expected an index of format {FORMAT!r} in {folder}, but {path.name} cannot be used "
            f"({type(error).__name__}: {error}); it was damaged, or made by another version or "
            f"program: {_remedy(folder)} --overwrite"
        ) from error
    return facts
