"""One episode of question answering: searches, answers, and what has been found so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentgym.core.outcome import bounded
from agentgym.envs.search.engine.commands import ANSWER, LONGEST_ARGUMENT, SEARCH, SearchCommand
from agentgym.envs.search.engine.information import evidence, information, plain_text
from agentgym.envs.search.engine.scoring import NO_ANSWER, AnswerScores, mentions, score
from agentgym.envs.search.question import Question
from agentgym.errors import EnvFailure
from agentgym.retrieval import Hit, Passage, Retriever

ON_ERROR = ("raise", "observe")
"""What becomes of a retriever's failure: the episode fails, or the policy reads about it."""
LONGEST_QUESTION = 3000
"""Most characters of a question that are shown."""
LAST_TURN = "Last turn: only an answer is accepted."

GOLD_DETAILS = frozenset({"gold_hits", "gold_recall"})
"""Details that are left out where the evidence of a question is unknown."""
SCORES = frozenset({"em", "subem", "f1", "f1_hotpot"})
"""Details of the turn that ends an episode."""
DETAILS = GOLD_DETAILS | SCORES | {
    "valid", "format_ok", "answered", "searched", "new_docs", "answer_in_obs", "answer_new",
    "repeated_query",
    "self_information", "search_failed", "n_search", "n_invalid", "n_self_information",
    "answer_seen",
}  # fmt: skip
"""Keys of :meth:`SearchSession.details`."""

SearchOutcome = Sequence[Hit] | EnvFailure
"""What a retriever made of a query."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every episode of an environment."""

    topk: int = 3
    """Passages that a search shows."""
    max_observation_chars: int = 2400
    """Most characters of an information block."""
    measure: str = "em"
    """Measure by which an answer is right; a field of :class:`AnswerScores`."""
    answer_attempts: int = 1
    """Answers that may be given; a right one ends the episode at once."""
    first_search: bool = False
    """Whether the episode begins with the results for the question itself."""
    on_error: str = "raise"
    """One of :data:`ON_ERROR`."""
    forms: str = "<search>{query}</search> or <answer>{answer}</answer>"
    """How actions are written, for messages."""


class Search(NamedTuple):
    """A search that was made."""

    query: str
    """The query as it was sent."""
    passages: tuple[Passage, ...]
    """What it found, best first."""


class SearchState(NamedTuple):
    """Everything about a session that can change; cheap to keep, compare and restore."""

    searches: tuple[Search, ...] = ()
    """Searches with different queries, in order; that for the question itself included."""
    answers: tuple[str, ...] = ()
    """Answers given."""
    n_search: int = 0
    """Searches that the policy made, repeated ones included."""
    n_invalid: int = 0
    """Turns in which nothing could be done."""
    n_self_information: int = 0
    """Turns in which the policy wrote an information block."""
    answer_seen: bool = False
    """Whether a gold answer stood in any information block."""
    over: bool = False
    """Whether the last answer has been given."""


@dataclass(slots=True)
class SearchTurn:
    """What one turn did."""

    observation: str
    """What the policy reads next."""
    valid: bool = True
    """Whether the action was carried out."""
    format_ok: bool = True
    """Whether the action was understood."""
    answered: bool = False
    """Whether it was an answer."""
    searched: bool = False
    """Whether it was a search."""
    new_docs: int = 0
    """Passages shown for the first time."""
    gold_hits: int = 0
    """Gold passages among them."""
    answer_in_obs: bool = False
    """Whether a gold answer stands in this information block."""
    answer_new: bool = False
    """Whether it stood in none before."""
    repeated_query: bool = False
    """Whether the same query was sent before."""
    self_information: bool = False
    """Whether the policy wrote an information block."""
    search_failed: bool = False
    """Whether the retriever failed."""


class SearchSession:
    """A question that is being answered.

    Args:
        question: The question.
        retriever: Where to search.
        rules: What holds for the episode.
    """

    __slots__ = (
        "_block",
        "_gold",
        "_passage_ids",
        "_prepared",
        "_rules",
        "question",
        "retriever",
        "state",
    )  # fmt: skip

    def __init__(self, question: Question, retriever: Retriever, rules: Rules) -> None:
        self.question = question
        self.state = SearchState()
        self.retriever = retriever
        self._rules = rules
        self._gold = frozenset(question.gold)
        self._passage_ids: set[str] = set()
        self._block: tuple[Search, str] | None = None
        self._prepared: tuple[str, SearchOutcome] | None = None

    @property
    def last(self) -> Search | None:
        """The last search with a new query; None before the first."""
        return self.state.searches[-1] if self.state.searches else None

    @property
    def missing(self) -> frozenset[str]:
        """Ids of the gold passages that have not been shown."""
        return self._gold - self._passage_ids

    @property
    def gold_recall(self) -> float | None:
        """Share of the gold passages that have been shown; None if they are unknown."""
        if not self._gold:
            return None
        return 1.0 - len(self.missing) / len(self._gold)

    def start(self, turns: int) -> str:
        """Begin the episode.

        Args:
            turns: Turns that the episode has.

        Returns:
            The first observation.

        Raises:
            EnvFailure: The retriever failed at the first search.
        """
        lines = [f"Question: {bounded(plain_text(self.question.text), LONGEST_QUESTION)}"]
        if self._rules.first_search:
            lines.append(self._search(question_query(self.question)).observation)
        return self._with_notice("\n".join(lines), turns)

    def block(self, search: Search) -> str:
        """Write the information block of a search, as the policy reads it."""
        cached = self._block
        if cached is None or cached[0] is not search:  # mostly it is the last one again
            rules = self._rules
            cached = search, information(search.passages, rules.topk, rules.max_observation_chars)
            self._block = cached
        return cached[1]

    def query_of(self, command: SearchCommand, turns_left: int) -> str | None:
        """Return the query that a command would send to the retriever, or None if it sends none.

        Args:
            command: The command.
            turns_left: Turns after this one.
        """
        if command.name != SEARCH or not command.argument or not turns_left:
            return None
        return command.argument if self._find_search(command.argument) is None else None

    def prepare(self, query: str, outcome: SearchOutcome) -> None:
        """Supply what the retriever makes of the query of the next turn, asked for beforehand."""
        self._prepared = query, outcome

    def act(self, command: SearchCommand, turns_left: int) -> SearchTurn:
        """Carry out a command.

        Args:
            command: The command.
            turns_left: Turns after this one.

        Raises:
            EnvFailure: The retriever failed, and the rules do not let the policy read about it.
        """
        if command.name == ANSWER:
            return self._answer(command.argument, turns_left)
        if not turns_left:
            return self._refused("only an answer is accepted in the last turn", turns_left)
        if not command.argument:
            return self._refused("the query is empty", turns_left)
        self._count(n_search=self.state.n_search + 1)
        turn = self._search(command.argument)
        turn.searched = True
        turn.observation = self._with_notice(turn.observation, turns_left)
        return turn

    def refuse(self, reason: str, turns_left: int, *, self_information: bool = False) -> SearchTurn:
        """Answer a text in which there is no command; the turn is consumed.

        Args:
            reason: Why there is none, in full.
            turns_left: Turns after this one.
            self_information: Whether the policy wrote an information block.
        """
        self._count(
            n_invalid=self.state.n_invalid + 1,
            n_self_information=self.state.n_self_information + self_information,
        )
        observation = self._with_notice(reason, turns_left)
        return SearchTurn(observation, False, False, self_information=self_information)

    def scores(self) -> AnswerScores:
        """Return what the last answer is worth; nothing where there is none."""
        if not self.state.answers:
            return NO_ANSWER
        return score(self.state.answers[-1], self.question.answers)

    def details(self, turn: SearchTurn, scores: AnswerScores | None) -> Mapping[str, Any]:
        """Describe a turn for ``info["details"]``; None for what is not known.

        Args:
            turn: The turn.
            scores: What the answer is worth, at the end of the episode.
        """
        has_gold = bool(self._gold)
        return {
            "valid": turn.valid,
            "format_ok": turn.format_ok,
            "answered": turn.answered,
            "searched": turn.searched,
            "new_docs": turn.new_docs,
            "gold_hits": turn.gold_hits if has_gold else None,
            "answer_in_obs": turn.answer_in_obs,
            "answer_new": turn.answer_new,
            "repeated_query": turn.repeated_query,
            "self_information": turn.self_information,
            "search_failed": turn.search_failed,
            "n_search": self.state.n_search,
            "n_invalid": self.state.n_invalid,
            "n_self_information": self.state.n_self_information,
            "gold_recall": self.gold_recall,
            "answer_seen": self.state.answer_seen,
            "em": None if scores is None else scores.em,
            "subem": None if scores is None else scores.subem,
            "f1": None if scores is None else scores.f1,
            "f1_hotpot": None if scores is None else scores.f1_hotpot,
        }

    def snapshot(self) -> SearchState:
        """Return the state, which is immutable."""
        return self.state

    def restore(self, snapshot: SearchState) -> None:
        """Return to a state of :meth:`snapshot`; no search is made again."""
        self.state = SearchState(*snapshot)
        self._passage_ids = {
            passage.id for search in self.state.searches for passage in search.passages
        }
        self._prepared = None

    # -- parts ----------------------------------------------------------------------------------

    def _count(self, **changes: Any) -> None:
        self.state = self.state._replace(**changes)

    def _find_search(self, query: str) -> Search | None:
        """Return the search that has this query, without regard to case."""
        key = query.casefold()
        return next(
            (search for search in self.state.searches if search.query.casefold() == key), None
        )

    def _search(self, query: str) -> SearchTurn:
        """Search, or show again what the same query found before."""
        earlier = self._find_search(query)
        if earlier is not None:
            return self._shown_again(earlier)
        try:
            passages = self._find(query)
        except EnvFailure as failure:
            if self._rules.on_error == "raise":
                raise
            return SearchTurn(f"the search failed: {failure}"[:500], search_failed=True)
        search = Search(query, passages)
        new = {passage.id for passage in passages} - self._passage_ids
        self._passage_ids |= new
        block = self.block(search)
        mentioned, was_seen = self._mentioned(block), self.state.answer_seen
        self._count(searches=(*self.state.searches, search), answer_seen=was_seen or mentioned)
        return SearchTurn(
            block,
            new_docs=len(new),
            gold_hits=len(new & self._gold),
            answer_in_obs=mentioned,
            answer_new=mentioned and not was_seen,
        )

    def _shown_again(self, search: Search) -> SearchTurn:
        block = self.block(search)
        return SearchTurn(block, answer_in_obs=self._mentioned(block), repeated_query=True)

    def _mentioned(self, block: str) -> bool:
        """Return whether the passages of a block hold a gold answer."""
        return mentions(evidence(block), self.question.answers)

    def _find(self, query: str) -> tuple[Passage, ...]:
        """Take what was prepared for the query, or ask the retriever."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and prepared[0] == query:
            outcome = prepared[1]
        else:
            (outcome,) = find_all(self.retriever, [query], self._rules.topk)
        if isinstance(outcome, EnvFailure):
            raise outcome
        return tuple(hit.passage for hit in outcome)

    def _answer(self, answer: str, turns_left: int) -> SearchTurn:
        if not answer:
            return self._refused("the answer is empty", turns_left)
        self._count(answers=(*self.state.answers, answer))
        is_right = getattr(self.scores(), self._rules.measure) == 1.0
        attempts_left = self._rules.answer_attempts - len(self.state.answers)
        if is_right or not attempts_left or not turns_left:
            self._count(over=True)
            return SearchTurn("right" if is_right else "wrong", answered=True)
        noun = "answer is" if attempts_left == 1 else "answers are"
        text = f"wrong: {attempts_left} more {noun} accepted"
        return SearchTurn(self._with_notice(text, turns_left), answered=True)

    def _refused(self, reason: str, turns_left: int) -> SearchTurn:
        """Refuse a command that was understood; the turn is consumed."""
        turn = self.refuse(f"invalid: {reason}: write {self._rules.forms}", turns_left)
        turn.format_ok = True
        return turn

    def _with_notice(self, observation: str, turns_left: int) -> str:
        """Announce the last turn, in which a search would not be carried out."""
        return f"{observation}\n{LAST_TURN}" if turns_left == 1 else observation


def question_query(question: Question) -> str:
    """Return the query that a first search for the question itself sends."""
    return plain_text(question.text)[:LONGEST_ARGUMENT].rstrip()


def find_all(retriever: Retriever, queries: Sequence[str], topk: int) -> list[SearchOutcome]:
    """Send queries in one call; whatever goes wrong becomes the failure of each of them.

    Retrievers may be other people's code, so what they raise and return is not taken on trust.
    """
    try:
        results = retriever.search(list(queries), topk)
        hit_lists = [[Hit(*hit) for hit in result][:topk] for result in results]
        if len(hit_lists) == len(queries) and all(
            _readable(hit) for hits in hit_lists for hit in hits
        ):
            return list(hit_lists)
        problem = EnvFailure(
            f"expected a list of hits for each of {len(queries)} queries, got {len(hit_lists)} "
            "lists, or hits without a Passage of texts (id, title, text): see "
            "agentgym.retrieval.Retriever"
        )
    except EnvFailure as failure:
        problem = failure
    except Exception as error:
        problem = EnvFailure(
            f"expected hits from {type(retriever).__name__}.search, which raised "
            f"{type(error).__name__}: {error}"[:500]
        )
        problem.__cause__ = error
    return [problem] * len(queries)


def _readable(hit: Hit) -> bool:
    """Return whether a hit holds a passage whose fields are texts."""
    passage = hit.passage
    return isinstance(passage, Passage) and all(
        isinstance(field, str) for field in (passage.id, passage.title, passage.text)
    )
