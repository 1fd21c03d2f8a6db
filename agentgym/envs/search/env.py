"""Search as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from agentgym.core.env import OBSERVATION_LENGTH
from agentgym.core.later import Later
from agentgym.core.options import choice, flag, integer, text
from agentgym.core.outcome import Outcome, StopReason
from agentgym.core.tasks import Task
from agentgym.envs.problem_tasks import expert_for
from agentgym.envs.search.corpus import CorpusConfig
from agentgym.envs.search.engine.admissible import admissible
from agentgym.envs.search.engine.commands import FORGED, SPECS, SearchLanguage
from agentgym.envs.search.engine.information import check_length
from agentgym.envs.search.engine.scoring import MEASURES
from agentgym.envs.search.engine.session import (
    DETAILS,
    GOLD_DETAILS,
    ON_ERROR,
    SCORES,
    Rules,
    SearchSession,
    SearchTurn,
    find_all,
)
from agentgym.envs.search.experts import EXPERTS
from agentgym.envs.search.generator.config import GeneratorConfig
from agentgym.envs.search.shared_search import SearchConfig, open_search
from agentgym.envs.search.tasks import hop_counts
from agentgym.envs.session_env import SessionEnv
from agentgym.retrieval import Retriever

REWARDS = ("sparse", *MEASURES[1:])
"""What a final answer earns: 1 for an exact match (``em`` of the details), or another measure."""
MOST_SHOWN = 50
LARGEST_BLOCK = OBSERVATION_LENGTH - 4096
"""Maximum number of characters of an information block; the rest is for question and notices."""


class SearchEnv(SessionEnv[SearchSession]):
    """Answer a question by several searches of a corpus.

    Args:
        corpus: ``"generated"``, the path of files or of an index folder, or a
            :class:`~agentgym.retrieval.Retriever`.
        questions: File or folder of questions, required with your own corpus.
        size: Number of passages of the generated encyclopaedia.
        difficulty: Difficulty of the encyclopaedia: ``easy``, ``medium``, ``hard``, ``local``, or a
            :class:`~agentgym.envs.search.generator.config.GeneratorConfig`.
        generator_seed: Seed of the encyclopaedia.
        shared_corpus: Whether all splits share one universe, instead of one each.
        hops: Number of hops of the questions, or several allowed numbers; None: all.
        topk: Number of passages that a search shows.
        horizon: Turn budget. In the last turn only an answer is accepted.
        max_observation_chars: Maximum length of an information block, in characters.
        index: Index of a corpus: ``bm25`` or ``tantivy``.
        retriever_url: Address of a search server, used instead of an index.
        dialect: Protocol of the server: ``search-r1`` or ``ragen``.
        reward: Reward of the answer: ``sparse`` (1 for an exact match), ``subem``, ``f1`` or
            ``f1_hotpot``. The score is the same measure, and success is a measure of 1.
        answer_attempts: Maximum number of answers until one is right.
        first_search: Whether the first observation contains the results for the question.
        expert: The demonstrator: ``reader`` uses only what it has read, so it can be imitated,
            ``lazy`` does the same but mostly begins with a search for half a name, ``hasty`` mostly
            answers after its first search, ``oracle`` knows plan and answer, and is the only one
            for your own questions. None: ``reader``, or ``oracle`` with questions.
        on_error: How to handle a failing retriever: ``raise`` ends the episode as failed,
            ``observe`` tells the policy.
        **kwargs: See :class:`~agentgym.core.TextEnv`.

    Raises:
        ConfigurationError: A value is of the wrong type, out of range, or contradicts another.
        DataError: A corpus, an index or a question file is missing or damaged.

    Further reset options: ``hops`` draws among tasks with these numbers of hops, and
    ``question_id`` is an alias of ``task_id``.
    """

    action_specs = SPECS
    language: SearchLanguage
    reset_options: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = {
        "hops": hop_counts,
        "question_id": text,
    }

    def __init__(
        self,
        *,
        corpus: str | os.PathLike[str] | Retriever = "generated",
        questions: str | os.PathLike[str] | None = None,
        size: int = 20_000,
        difficulty: str | GeneratorConfig = "medium",
        generator_seed: int = 0,
        shared_corpus: bool = False,
        hops: int | Sequence[int] | None = None,
        topk: int = 3,
        horizon: int = 8,
        max_observation_chars: int = 2400,
        index: str = "bm25",
        retriever_url: str | None = None,
        dialect: str = "search-r1",
        reward: str = "sparse",
        answer_attempts: int = 1,
        first_search: bool = False,
        expert: str | None = None,
        on_error: str = "raise",
        **kwargs: Any,
    ) -> None:
        paid = choice(reward, "reward", REWARDS)
        rules = Rules(
            integer(topk, "topk", 1, MOST_SHOWN),
            integer(max_observation_chars, "max_observation_chars", 1, LARGEST_BLOCK),
            "em" if paid == "sparse" else paid,
            integer(answer_attempts, "answer_attempts", 1),
            flag(first_search, "first_search"),
            choice(on_error, "on_error", ON_ERROR),
        )
        check_length(rules.topk, rules.max_observation_chars)
        source = CorpusConfig(
            corpus, size, difficulty, generator_seed, shared_corpus, index, retriever_url, dialect
        )
        some = None if hops is None else hop_counts(hops, "hops")
        name = expert_for(expert, questions is not None, EXPERTS)
        self._shared = open_search(SearchConfig(source, questions, some, name, rules))
        super().__init__(self._shared.tasks, horizon=horizon, **kwargs)
        self.language = SearchLanguage(self.language.grammar)
        self.rules = replace(rules, forms=self.language.forms)
        # Open everything now, so that an error is raised here and not at a later reset.
        self._shared.library.retriever(self.split)

    # -- the contract of a family ---------------------------------------------------------------

    def reported_details(self) -> Collection[str]:
        """Return the keys of every turn's details; those about evidence only where it is known."""
        return DETAILS - SCORES - (frozenset() if self._shared.gold_known else GOLD_DETAILS)

    @classmethod
    def prepare(cls, members: Sequence[tuple[SearchEnv, str]]) -> None:
        """Search once for all members with the same retriever; a failure applies to all of them."""
        groups: dict[tuple[int, int], list[tuple[SearchSession, str]]] = {}
        retrievers: dict[int, Retriever] = {}
        for env, action in members:
            query = env._next_query(action)
            if query is not None:
                retriever = env.session.retriever
                retrievers[id(retriever)] = retriever
                key = (id(retriever), env.rules.topk)
                groups.setdefault(key, []).append((env.session, query))
        for (place, topk), group in groups.items():
            queries = list(dict.fromkeys(query for _, query in group))
            outcomes = dict(zip(queries, find_all(retrievers[place], queries, topk), strict=True))
            for session, query in group:
                session.prepare(query, outcomes[query])

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        self._session = self._shared.session(task, self.rules)
        return self._session.start(self.turns_left)

    def _act(self, action: str) -> Outcome:
        return self._outcome(self.session.act(self.language.command(action), self.turns_left - 1))

    def _misread(self, action: str, problem: str) -> Outcome:
        forged = problem.endswith(FORGED)
        turn = self.session.refuse(problem, self.turns_left - 1, self_information=forged)
        return self._outcome(turn)

    def _idle(self, message: str, valid: bool) -> Outcome:
        return self._outcome(SearchTurn(message, valid))

    def _admissible(self) -> Sequence[str]:
        return [command.write() for command in admissible(self.session, self.turns_left)]

    def _state(self) -> str:
        # Only the policy's queries and answers: from a hash of hidden facts, a policy could confirm
        # guesses by comparing hashes.
        state = self.session.state
        return f"{self.task.id} {[search.query for search in state.searches]!r} {state.answers!r}"

    def _oracle_turns(self) -> int | Later[int | None]:
        session = self.session
        if session.state.over:
            return 0
        searches, has_all = session.state.searches, not session.missing
        return Later(self._shared.turns, session.question, self.task.split, searches, has_all)

    def _oracle_action(self) -> str | None:
        if self.session.state.over:
            return None
        return self._shared.oracle.step(self.session, self.turns_left - 1).write()

    def _demonstrator_action(self) -> str | None:
        if self.session.state.over:
            return None
        return self._shared.expert.step(self.session, self.turns_left - 1).write()

    def _potential(self) -> float:
        return self.session.gold_recall or 0.0

    def _snapshot(self) -> Any:
        return self.session.snapshot()

    def _restore(self, state: Any) -> None:
        self._session = self._shared.session(self.task, self.rules)
        self._session.restore(state)

    # -- parts ----------------------------------------------------------------------------------

    def _next_query(self, action: str) -> str | None:
        """Return the query of a search action; None for other actions."""
        if not self._running or not isinstance(action, str):
            return None
        reading = self.language.read(action)
        if reading.problem:
            return None
        return self.session.query_of(self.language.command(reading.native), self.turns_left - 1)

    def _outcome(self, turn: SearchTurn) -> Outcome:
        """Return the outcome of a turn, with the answer's reward if it ends the episode."""
        session = self.session
        over = session.state.over
        scores = session.scores() if over or self.turns_left == 1 else None
        value = 0.0 if scores is None else float(getattr(scores, self.rules.measure))
        success = over and value == 1.0
        return Outcome(
            turn.observation,
            reward=value,
            terminated=over,
            valid=turn.valid,
            success=success,
            score=None if scores is None else value,
            stop_reason=StopReason.SUCCESS if success else StopReason.ANSWER,
            details=session.details(turn, scores),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out data that each process shares; unpickling finds it by its configuration."""
        state = super().__getstate__()
        del state["tasks"]
        return state

    def _find_again(self) -> None:
        self.tasks = self._shared.tasks
