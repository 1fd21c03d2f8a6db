"""The corpora of an environment, opened when they are first needed and shared by a process.

Generated and one's own corpora are indexed once and kept in the cache folder; an index folder is
opened where it lies; a search server or a retriever object is asked as it is.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agentgym.core.options import choice, flag, integer
from agentgym.core.tasks import SPLITS
from agentgym.envs.search.generator.config import GeneratorConfig
from agentgym.envs.search.generator.facts import GENERATOR_VERSION
from agentgym.envs.search.generator.questions import QuestionGenerator
from agentgym.envs.search.generator.universe import MAX_SIZE, MIN_SIZE, Universe
from agentgym.errors import ConfigurationError, DataError
from agentgym.retrieval import Passage, Retriever
from agentgym.retrieval.corpora.corpus import Corpus
from agentgym.retrieval.index_builder import INDEX_FACTS, INDEXES, open_index, write_index
from agentgym.retrieval.index_facts import UNREADABLE, read_facts
from agentgym.retrieval.passages import FORMAT as STORE_FORMAT
from agentgym.retrieval.passages import STORE_FACTS
from agentgym.retrieval.remote.client import DIALECTS, HttpRetriever
from agentgym.support.caching import check_folder, entry_path, save_folder

GENERATED = "generated"
"""The corpus that needs no data."""
LARGEST_FILE = 1 << 28
"""Bytes of a corpus of one's own up to which an index is built without being asked for."""
INDEX_VERSION = 1
"""Version of cached indexes: raise it if their content changes for the same cache key."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CorpusConfig:
    """The settings that determine the searched corpus."""

    corpus: Any = GENERATED
    """:data:`GENERATED`, the path of files or of an index folder, or a retriever."""
    size: int = 20_000
    """Passages of the generated encyclopaedia."""
    difficulty: str | GeneratorConfig = "medium"
    """Difficulty of the generated encyclopaedia, or its generator's configuration."""
    seed: int = 0
    """Seed of its universe."""
    shared_corpus: bool = False
    """Whether all splits have one universe."""
    index: str = "bm25"
    """Kind of index."""
    retriever_url: str | None = None
    """A search server, to be asked instead of an index."""
    dialect: str = "search-r1"
    """Protocol of the search server."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is of the wrong type or out of range, or contradicts
                another.
        """
        checked = {
            "size": integer(self.size, "size (in passages)", MIN_SIZE, MAX_SIZE),
            "difficulty": GeneratorConfig.of(self.difficulty),
            "seed": integer(self.seed, "generator_seed", 0, None),
        }
        if isinstance(self.corpus, str | os.PathLike) and self.corpus != GENERATED:
            checked["corpus"] = os.path.expanduser(os.fspath(self.corpus))
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        flag(self.shared_corpus, "shared_corpus")
        choice(self.index, "index", INDEXES)
        choice(self.dialect, "dialect", DIALECTS)
        if not (isinstance(self.corpus, str) and self.corpus) and not self.is_retriever:
            raise ConfigurationError(
                f"expected corpus to be {GENERATED!r}, the path of a corpus or an index folder, or "
                f"an agentgym.retrieval.Retriever; got {self.corpus!r:.80}"
            )
        if self.index != INDEXES[0] and (self.is_retriever or self.retriever_url is not None):
            raise ConfigurationError(
                f"expected index to be left out with a retriever or a server, which has its own; "
                f"got index={self.index!r}"
            )
        if self.retriever_url is not None:
            self._check_remote()

    @property
    def generated(self) -> bool:
        """Whether the corpus is the generated encyclopaedia."""
        return isinstance(self.corpus, str) and self.corpus == GENERATED

    @property
    def is_retriever(self) -> bool:
        """Whether the corpus is a retriever object."""
        return not isinstance(self.corpus, str) and isinstance(self.corpus, Retriever)

    def remote(self) -> HttpRetriever | None:
        """Return the client of the search server, if there is one."""
        if self.retriever_url is None:
            return None
        return HttpRetriever(self.retriever_url, dialect=self.dialect)

    def stamp(self) -> tuple[int, int] | None:
        """Return size and time of what the path leads to, by which a change of it is noticed.

        Of a folder of files it is that of the folder itself: looking at each file would make every
        environment of a vector pay for it. None where there is no path, or nothing there.
        """
        if self.generated or self.is_retriever:
            return None
        for path in (Path(self.corpus, INDEX_FACTS), Path(self.corpus)):
            with suppress(OSError, ValueError):
                state = path.stat()
                return state.st_size, state.st_mtime_ns
        return None

    def _check_remote(self) -> None:
        if not isinstance(self.retriever_url, str):
            raise ConfigurationError(
                "expected retriever_url to be the address of a search server such as "
                f"http://127.0.0.1:8000, got {self.retriever_url!r:.80}"
            )
        if not self.generated:
            raise ConfigurationError(
                "expected corpus to be left out with retriever_url, which names a server that has "
                f"its own; got corpus={self.corpus!r:.80}"
            )
        self.remote()


class Library(ABC):
    """The corpora of one configuration, by split."""

    @abstractmethod
    def retriever(self, split: str) -> Retriever:
        """Return what searches the corpus of a split, opened on first use.

        Raises:
            DataError: The corpus or its index cannot be read.
        """

    @abstractmethod
    def identity(self, split: str) -> str:
        """Name the content of a split's corpus, the same on every machine."""


class GeneratedLibrary(Library):
    """The generated encyclopaedia: a universe for each split, or one for all.

    Args:
        config: A configuration whose corpus is generated.
    """

    def __init__(self, config: CorpusConfig) -> None:
        assert isinstance(config.difficulty, GeneratorConfig)
        self.shapes = config.difficulty.cycle
        """Kind and hops of questions by number, over and over."""
        self.questions = config.size // config.difficulty.passages_a_question
        """Questions about a universe."""
        self.shared = config.shared_corpus
        """Whether all splits have one universe."""
        self._config = config
        self._remote = config.remote()
        self._lock = threading.RLock()
        self._generators: dict[str, QuestionGenerator] = {}
        self._indices: dict[str, Retriever] = {}
        self.name = f"{config.difficulty.name}-{config.size}-{config.seed}"
        """Name of the encyclopaedia in task ids."""
        if self.shared:
            self.name += "-shared"
        if config.index != INDEXES[0]:
            self.name += f"-{config.index}"

    def retriever(self, split: str) -> Retriever:
        """Return the retriever of a split's universe: the server, or the index of its passages."""
        return self._remote if self._remote is not None else self.index(split)

    def identity(self, split: str) -> str:
        """Name a split's universe."""
        return f"{self.name}/{self._home(split)}/{GENERATOR_VERSION}"

    def universe(self, split: str) -> Universe:
        """Return the universe of a split; computed anew, and cheap until passages are written."""
        config = self._config
        seed = config.seed * len(SPLITS) + SPLITS.index(self._home(split))
        return Universe(config.difficulty, config.size, seed)

    def generator(self, split: str) -> QuestionGenerator:
        """Return the questions about a split's universe, which its index has to answer."""
        home = self._home(split)
        with self._lock:
            generator = self._generators.get(home)
            if generator is None:
                generator = QuestionGenerator(self.universe(home), self.index(home))
                self._generators[home] = generator
            return generator

    def index(self, split: str) -> Retriever:
        """Return the index of a split's universe, by which questions are verified."""
        home = self._home(split)
        with self._lock:
            index = self._indices.get(home)
            if index is None:
                universe, config = self.universe(home), self._config
                key = ["generated", GENERATOR_VERSION, repr(config.difficulty), config.size,
                       universe.seed]  # fmt: skip
                index = cached_index(key, universe.passages, config.index)
                self._indices[home] = index
            return index

    def _home(self, split: str) -> str:
        """Return the split with the universe that is searched."""
        return SPLITS[0] if self.shared else split


class SingleLibrary(Library):
    """One corpus for all splits.

    Args:
        retriever: The retriever.
        identity: Identifies its content.
    """

    def __init__(self, retriever: Retriever, identity: str) -> None:
        self._retriever = retriever
        self._identity = identity

    def retriever(self, split: str) -> Retriever:
        """Return the retriever of the corpus."""
        return self._retriever

    def identity(self, split: str) -> str:
        """Name the corpus."""
        return self._identity


_lock = threading.RLock()
_libraries: dict[CorpusConfig, tuple[tuple[int, int] | None, Library]] = {}


def open_library(config: CorpusConfig) -> Library:
    """Return this process's library of a configuration, made on first use and when it has changed.

    Raises:
        ConfigurationError: The configuration cannot be met.
        DataError: A corpus or an index of one's own cannot be read.
    """
    if config.is_retriever:
        kind = type(config.corpus)
        return SingleLibrary(config.corpus, f"{kind.__module__}.{kind.__qualname__}")
    with _lock:
        stamp = config.stamp()
        previous_stamp, library = _libraries.get(config, (None, None))
        if library is None or previous_stamp != stamp:
            library = _make(config)
            _libraries[config] = stamp, library
        return library


def cached_index(key: Any, passages: Callable[[], Iterable[Passage]], index: str) -> Retriever:
    """Open the index of some passages, which is built and kept on first use.

    Args:
        key: JSON value that determines the passages.
        passages: Gives the passages; only called to build the index.
        index: Kind of index.
    """
    name = json.dumps([INDEX_VERSION, index, key])
    folder = entry_path("search", "index", name)
    for attempt in range(2):
        if folder.is_dir():
            try:
                check_folder(folder)
                return open_index(folder, hashed=False)  # it has just been
            except DataError as error:
                if attempt:
                    raise
                _log.warning("making an index again: %s", error)
                shutil.rmtree(folder, ignore_errors=True)
        if not save_folder(folder, partial(_write, passages, index)):
            break
    # The cache cannot be written: the index lives as long as the process.
    scratch = tempfile.mkdtemp(prefix="agentgym-search-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    _write(passages, index, Path(scratch))
    return open_index(scratch)


def _write(passages: Callable[[], Iterable[Passage]], index: str, folder: Path) -> None:
    write_index(passages(), folder, index=index)


def _make(config: CorpusConfig) -> Library:
    if config.generated:
        remote = None if config.shared_corpus else config.remote()
        if remote is not None:
            return SingleLibrary(remote, "server")
        return GeneratedLibrary(config)
    path = Path(config.corpus)
    if (path / INDEX_FACTS).is_file():
        if config.index != INDEXES[0]:
            raise ConfigurationError(
                f"expected index to be left out with an index folder, which names its own; got "
                f"index={config.index!r} for {path}"
            )
        return SingleLibrary(open_index(path), _identity(path))
    corpus = Corpus(path)
    if corpus.size > LARGEST_FILE:
        raise ConfigurationError(
            f"expected a corpus of at most {LARGEST_FILE >> 20} MiB or an index folder, got "
            f"{path} with {corpus.size >> 20} MiB: build an index once with agentgym index {path}, "
            "and give its folder as corpus"
        )
    key = ["files", *([str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns]
                      for file in corpus.files)]  # fmt: skip
    retriever = cached_index(key, lambda: corpus, config.index)
    return SingleLibrary(retriever, f"{path.name}, {corpus.size} bytes")


def _identity(folder: Path) -> str:
    """Name the content of an index folder by what its passages measure."""
    with suppress(*UNREADABLE):
        facts = read_facts(folder / STORE_FACTS, STORE_FORMAT)
        return f"{facts['passages']} passages, {facts['bytes']} bytes"
    return folder.name
