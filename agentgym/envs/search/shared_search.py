"""Data that a process shares between equal environments: corpora, questions and the expert."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from agentgym.core.options import choice
from agentgym.core.tasks import KEPT_TASKS, Task
from agentgym.envs.search.corpus import CorpusConfig, GeneratedLibrary, Library, open_library
from agentgym.envs.search.engine.commands import ANSWER
from agentgym.envs.search.engine.session import Rules, Search, SearchSession, question_query
from agentgym.envs.search.experts import EXPERTS, FALLIBLE, Expert
from agentgym.envs.search.official.files import (
    QuestionSet,
    question_files,
    question_name,
    read_questions,
)
from agentgym.envs.search.question import Question
from agentgym.envs.search.tasks import (
    GeneratedQuestions,
    ListedQuestions,
    QuestionTasks,
    hop_counts,
)
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.caching import BoundedCache

LONG = 1 << 20
"""Turns that are enough for any plan."""
LONGEST_PLAN = 50
"""Maximum number of searches of a plan."""


@dataclass(frozen=True)
class SearchConfig:
    """The settings that determine the shared data: corpus, questions, demonstrator and rules."""

    corpus: CorpusConfig
    """The corpus."""
    questions: str | os.PathLike[str] | None
    """File or folder of questions; None asks about the generated encyclopaedia."""
    hops: tuple[int, ...] | None
    """Numbers of hops that questions may have; None: any."""
    expert: str
    """Name of the demonstrator."""
    rules: Rules
    """Settings that apply to every episode."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A field is of the wrong type, or they contradict each other.
            DataError: There are no question files.
        """
        choice(self.expert, "expert", EXPERTS)
        if self.hops is not None:
            object.__setattr__(self, "hops", hop_counts(self.hops, "hops"))
        own_corpus = not self.corpus.generated or (
            self.corpus.retriever_url is not None and not self.corpus.shared_corpus
        )
        if self.questions is None and own_corpus:
            raise ConfigurationError(
                "expected questions, the path of a question file, with a corpus or a server of "
                "your own; or, with a server of the generated encyclopaedia, shared_corpus=True"
            )
        if self.questions is not None:
            question_files(self.questions)
            if not own_corpus and self.corpus.retriever_url is None:
                raise ConfigurationError(
                    "expected corpus or retriever_url together with questions: the generated "
                    "encyclopaedia knows nothing of them"
                )
            object.__setattr__(self, "questions", os.path.expanduser(os.fspath(self.questions)))


class SharedSearch:
    """Corpora, tasks and expert of a configuration.

    Args:
        config: The configuration.

    Raises:
        ConfigurationError: It cannot be met.
        DataError: A file or an index cannot be read.
    """

    def __init__(self, config: SearchConfig) -> None:
        self.config = config
        self.library = _library(config)
        self.expert: Expert = EXPERTS[config.expert]()
        self.oracle: Expert = EXPERTS["oracle"]()
        # How long a question is says a plan that answers it, whoever demonstrates.
        solver = FALLIBLE.get(config.expert)
        self._solver = EXPERTS[solver]() if solver else self.expert
        self._plans: BoundedCache[tuple[str, str, bool], tuple[str, ...]] = BoundedCache(KEPT_TASKS)
        self.gold_known = True
        """Whether the evidence of every question is known."""
        self.tasks = self._make_tasks()

    def session(self, task: Task, rules: Rules) -> SearchSession:
        """Return a new session of a task."""
        return self._session(self.tasks.problem(task), task.split, rules)

    def turns(
        self, question: Question, split: str, searches: Sequence[Search], has_all: bool
    ) -> int | None:
        """Return the number of turns that the expert still needs in a session; None if unknown.

        These are the searches of its plan that were not made yet, and the answer.

        Args:
            question: The question.
            split: Split of its task.
            searches: Searches that were made.
            has_all: Whether they have shown all gold passages.
        """
        plan = self._plan(question, split, self.expert)
        if plan is None:
            return None
        queries = {search.query.casefold() for search in searches}
        planned = {query.casefold() for query in (*plan, question_query(question))}
        elsewhere = not queries <= planned
        if elsewhere and self.gold_known and has_all:
            return 1
        return 1 + sum(query.casefold() not in queries for query in plan)

    def _session(self, question: Question, split: str, rules: Rules) -> SearchSession:
        return SearchSession(question, self.library.retriever(split), rules)

    def _plan_length(self, question: Question, split: str) -> int | None:
        """Return how many turns somebody who answers rightly takes from the start."""
        plan = self._plan(question, split, self._solver)
        return None if plan is None else 1 + len(plan)

    def _plan(self, question: Question, split: str, expert: Expert) -> tuple[str, ...] | None:
        """Return the queries that an expert sends from the start, if that can be known.

        About the generated encyclopaedia the expert is asked, since it goes on from what it is
        shown; others may be behind servers that should not be asked twice.
        """
        if not isinstance(self.library, GeneratedLibrary):
            return question.plan or None
        key = (split, question.text, expert is self.expert)
        plan = self._plans.get(key)
        if plan is None:
            session = SearchSession(question, self.library.index(split), self.config.rules)
            session.start(LONG)
            plan = self._plans.put(key, tuple(_queries(expert, session)))
        return plan

    def _make_tasks(self) -> QuestionTasks:
        config = self.config
        if config.questions is None:
            assert isinstance(self.library, GeneratedLibrary)
            return GeneratedQuestions(self.library, hops=config.hops, plan_length=self._plan_length)
        questions = _questions(config.questions)
        self.gold_known = all(question.gold for some in questions.values() for question in some)
        return ListedQuestions(
            question_name(config.questions), questions, self.library,
            hops=config.hops, plan_length=self._plan_length,
        )  # fmt: skip

    def __reduce__(self) -> Any:
        """Travel as the configuration."""
        return open_search, (self.config,)

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedSearch:
        """Share corpora and tasks between copies of an environment."""
        return self


_lock = threading.RLock()
_searches: dict[SearchConfig, tuple[Any, SharedSearch]] = {}
_question_sets: dict[tuple[Any, ...], QuestionSet] = {}


def _queries(expert: Expert, session: SearchSession) -> Iterator[str]:
    """Yield the expert's queries in a session until it answers."""
    for _ in range(LONGEST_PLAN):
        step = expert.step(session, LONG)
        if step.name == ANSWER:
            return
        yield step.argument
        session.act(step, LONG)


def open_search(config: SearchConfig) -> SharedSearch:
    """Return the shared data of a configuration, made on first use.

    It is made anew when corpus or questions have changed; environments that stand keep what they
    were made with.

    Raises:
        ConfigurationError: The configuration cannot be met.
        DataError: A file or an index cannot be read.
    """
    if config.corpus.is_retriever:  # an object, which need not be hashable
        return SharedSearch(config)
    with _lock:
        stamp = _stamp(config)
        previous_stamp, shared = _searches.get(config, (None, None))
        # If the files are gone, use the data that an earlier environment has read.
        if shared is None or stamp not in (previous_stamp, None):
            shared = SharedSearch(config)
            _searches[config] = stamp, shared
        return shared


def _stamp(config: SearchConfig) -> tuple[Any, ...] | None:
    """Return a value that changes with the files of corpus and questions; None if they are gone."""
    with suppress(OSError, DataError):
        return config.corpus.stamp(), config.questions and _stamps(config.questions)
    return None


def _library(config: SearchConfig) -> Library:
    """Open the corpora; questions of one's own make a server an unknown corpus."""
    corpus = config.corpus
    return open_library(replace(corpus, shared_corpus=False) if config.questions else corpus)


def _questions(path: str | os.PathLike[str]) -> QuestionSet:
    """Read a question set, once for a process as long as its files do not change."""
    key = _stamps(path)
    with _lock:
        question_set = _question_sets.get(key)
        if question_set is None:
            question_set = _question_sets[key] = read_questions(path)
        return question_set


def _stamps(path: str | os.PathLike[str]) -> tuple[Any, ...]:
    """Return name, size and time of the files of a question set."""
    stats = [(file, file.stat()) for file in question_files(path)]
    return tuple((str(file), stat.st_size, stat.st_mtime_ns) for file, stat in stats)
