"""The reader: it knows nothing but what it has read, so that it can be imitated.

From the question it knows which relations lead from the names in it to the answer. It searches for
a name with words of the relation, reads in the passages what the relation leads to, and goes on
from there. Where a search does not show the fact it is worded in another way. It remembers nothing:
each step follows from the question and the texts shown so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, SearchCommand
from agentgym.envs.search.engine.session import SearchSession
from agentgym.envs.search.experts.base import Expert
from agentgym.envs.search.experts.passage_reader import Article, StatedFact, read_block
from agentgym.envs.search.experts.wordings import (
    ComparisonPhrase,
    Count,
    Intersection,
    Meaning,
    Mention,
    Phrase,
    Value,
    read_question,
)
from agentgym.envs.search.generator.relations import YEAR, Relation

UNKNOWN = "unknown"
"""The answer where nothing was read that could be one."""
LONGEST_QUERY = 400
_YEAR = re.compile(r"\d{1,4}")  # in corpora of others anything may stand there


class KnownSearch(NamedTuple):
    """A search as the reader knows it."""

    query: str
    """What was searched for."""
    block: str
    """The text that came back."""


class ReaderExpert(Expert):
    """Answer by reading: of the session it looks at nothing but what has been shown."""

    def step(self, session: SearchSession, turns_left: int) -> SearchCommand:
        """Return the next search, or the answer."""
        searches = [
            KnownSearch(search.query, session.block(search)) for search in session.state.searches
        ]
        return choose_command(session.question.text, searches, turns_left)


def choose_command(
    question: str, searches: Sequence[KnownSearch], turns_left: int
) -> SearchCommand:
    """Return what to do next, from texts alone.

    Args:
        question: The question as it is shown.
        searches: The searches so far, first to last.
        turns_left: Turns after this one; without any left it has to answer.
    """
    meaning = read_question(question)
    reading = _Reading(searches)
    if meaning is None:
        queries: Sequence[str] = [question]
    else:
        answer = reading.answer(meaning)
        if answer is not None:
            return SearchCommand(ANSWER, answer)
        queries = reading.queries
    query = reading.unasked(queries)
    if query is not None and turns_left:
        return SearchCommand(SEARCH, query)
    return SearchCommand(ANSWER, reading.guess(meaning))


# -- parts -----------------------------------------------------------------------------------------


class _Reading:
    """What follows from the texts of an episode.

    Attributes:
        wanted: Queries for the first thing that is not known yet, best first.
    """

    def __init__(self, searches: Sequence[KnownSearch]) -> None:
        self._earlier_queries = {search.query.casefold() for search in searches}
        self._pages: list[list[Article]] = [read_block(search.block) for search in searches]
        self._facts: dict[tuple[str, str], StatedFact] = {}
        self._holders: dict[tuple[str, str], list[StatedFact]] = {}
        for fact in (fact for page in self._pages for article in page for fact in article.facts):
            if (fact.subject, fact.relation) not in self._facts:
                self._facts[fact.subject, fact.relation] = fact
                self._holders.setdefault((fact.value, fact.relation), []).append(fact)
        self.queries: Sequence[str] = ()

    def answer(self, meaning: Meaning) -> str | None:
        """Return what a question asks for, or None, and then ``queries`` says what is missing."""
        if isinstance(meaning, Count):
            return self._count(meaning)
        if isinstance(meaning, ComparisonPhrase):
            return self._compare(meaning)
        if isinstance(meaning, Intersection):
            return self._meet(meaning)
        return self._follow(meaning)

    def unasked(self, queries: Iterable[str]) -> str | None:
        """Return the first query that was not sent before."""
        cut = (query[:LONGEST_QUERY].strip() for query in queries)
        return next((query for query in cut if query.casefold() not in self._earlier_queries), None)

    def guess(self, meaning: Meaning | None) -> str:
        """Return what could be the answer: a value of the right sort that was read last."""
        articles = [article for page in reversed(self._pages) for article in page]
        if isinstance(meaning, Count):
            return "0"
        if isinstance(meaning, Value):
            facts = (fact for article in articles for fact in article.facts)
            name = meaning.relation.name
            return next((fact.value for fact in facts if fact.relation == name), UNKNOWN)
        return next((article.title for article in articles), UNKNOWN)

    def _follow(self, phrase: Phrase) -> str | None:
        """Return the name, or the year, that a phrase stands for."""
        if isinstance(phrase, Mention):
            return phrase.title
        forward = isinstance(phrase, Value)
        name = self._follow(phrase.of if isinstance(phrase, Value) else phrase.value)
        if name is None:
            return None
        relation = phrase.relation
        fact = self._facts.get((name, relation.name)) if forward else self._holder(relation, name)
        if fact is None:
            self.queries = list(_queries(phrase, name))
            return None
        return fact.value if forward else fact.subject

    def _holder(self, relation: Relation, value: str) -> StatedFact | None:
        """Return the first fact that gives a thing a value."""
        return next(iter(self._holders.get((value, relation.name), ())), None)

    def _meet(self, intersection: Intersection) -> str | None:
        """Return the thing that has two values."""
        first, second = intersection.first.relation, intersection.second.relation
        first_value = self._follow(intersection.first.value)
        second_value = None if first_value is None else self._follow(intersection.second.value)
        if first_value is None or second_value is None:
            return None
        for fact in self._holders.get((first_value, first.name), ()):
            also = self._facts.get((fact.subject, second.name))
            if also is not None and also.value == second_value:
                return fact.subject
        self.queries = [
            f"{first_value} {second_value} {first.words} {second.words}",
            f"{first_value} {second_value}",
            f"{first.predicate.format(first_value)} {second.predicate.format(second_value)}",
        ]
        return None

    def _count(self, count: Count) -> str | None:
        """Count what the searches have shown."""
        name = self._follow(count.value)
        if name is None:
            return None
        relation = count.relation
        facts = self._holders.get((name, relation.name), [])
        self.queries = [
            f"{name} {relation.inverse_words}",
            *(text.format(name) for text in relation.count),
        ]
        # One that an earlier search has shown need not be all.
        searched = self.queries[0].casefold() in self._earlier_queries
        return str(len(facts)) if facts and searched else None

    def _compare(self, comparison: ComparisonPhrase) -> str | None:
        """Read both values, then compare them."""
        relation = comparison.relation
        values: list[tuple[int, str]] = []
        for phrase in (comparison.first, comparison.second):
            name = self._follow(phrase)
            year = None if name is None else self._follow(Value(relation, Mention(name)))
            if name is None or year is None or _YEAR.fullmatch(year) is None:
                return None
            values.append((int(year), name))
        first, second = values
        return (max if comparison.greater else min)(first, second)[1]


def _queries(phrase: Phrase, name: str) -> Iterator[str]:
    """Yield what to search for, best first, when a relation is wanted from one known thing."""
    if isinstance(phrase, Mention):
        return
    relation = phrase.relation
    if isinstance(phrase, Value) and phrase.plain:
        yield relation.phrases[0].format(name).removeprefix("the ")
    if isinstance(phrase, Value):
        yield f"{name} {relation.words}"
        yield name
        wordings = relation.questions if relation.object == YEAR else relation.phrases
    else:
        yield f"{name} {relation.inverse_words}"
        wordings = relation.inverse
    yield from (text.format(name) for text in wordings)
