"""Answers questions from the texts alone: every parse of a question, over facts read in passages.

It is written apart from the reading expert on purpose, and knows no universe.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from agentgym.envs.search.generator.prose import read_facts
from agentgym.envs.search.generator.relations import RELATIONS, Relation
from agentgym.retrieval.retriever import Passage


class Solver:
    """What can be known from some passages."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.facts = {
            passage.title: read_facts(passage.title, passage.text) for passage in passages
        }
        self._having: dict[tuple[str, str], set[str]] = defaultdict(set)
        for title, facts in self.facts.items():
            for name, value in facts.items():
                self._having[name, value].add(title)

    def answers(self, question: str) -> list[set[str]]:
        """Return the answers of each parse of a question."""
        return [*self._answers(question)]

    def _answers(self, question: str) -> Iterator[set[str]]:
        full_match = re.fullmatch(r"(?:Who|What) is (the .+)\?", question)
        if full_match:
            yield from self._phrase(full_match[1])
        for relation in RELATIONS.values():
            for inner in _inside(relation.questions, question):
                yield from (self._values(relation, names) for names in self._phrase(inner))
            for inner in _inside(relation.inverse_questions, question):
                yield from (self._subjects(relation, names) for names in self._phrase(inner))
            for inner in _inside(relation.count, question):
                for names in self._phrase(inner):
                    yield {str(len(self._subjects(relation, names)))}
            yield from self._compared(relation, relation.earlier, question, min)
            yield from self._compared(relation, relation.later, question, max)
        match = re.fullmatch(
            r"Which [a-z ]+? ((?:is|was|has|stands|studied|worked) .+)\?", question
        )
        if match and match[1].count(" and ") == 1:
            first_name, second_name = match[1].split(" and ")
            for first in self._predicate(first_name):
                for second in self._predicate(second_name):
                    yield first & second

    def _compared(
        self, relation: Relation, wordings: Iterable[str], question: str, choose: Any
    ) -> Iterator[set[str]]:
        for wording in wordings:
            pattern = re.escape(wording).replace(r"\{\}", "(.+)")
            match = re.fullmatch(pattern, question)
            if not match:
                continue
            for (first,) in self._phrase(match[1]):
                for (second,) in self._phrase(match[2]):
                    years = {name: int(self.facts[name][relation.name]) for name in (first, second)}
                    assert len(set(years.values())) == 2
                    yield {choose(years, key=years.__getitem__)}

    def _predicate(self, text: str) -> Iterator[set[str]]:
        for relation in RELATIONS.values():
            for inner in _inside((relation.predicate,), text):
                yield from (self._subjects(relation, names) for names in self._phrase(inner))

    def _phrase(self, text: str) -> Iterator[set[str]]:
        """Yield what each parse of a noun phrase stands for."""
        name = text.removeprefix("the ")
        if name[0].isupper():
            if name in self.facts:
                yield {name}
            return
        for relation in RELATIONS.values():
            for inner in _inside(relation.phrases, text):
                yield from (self._values(relation, names) for names in self._phrase(inner))
            for inner in _inside(relation.inverse, text):
                yield from (self._subjects(relation, names) for names in self._phrase(inner))

    def _values(self, relation: Relation, names: set[str]) -> set[str]:
        return {self.facts[name][relation.name] for name in names}

    def _subjects(self, relation: Relation, names: set[str]) -> set[str]:
        return {subject for name in names for subject in self._having[relation.name, name]}


def _inside(wordings: Iterable[str], text: str) -> Iterator[str]:
    """Yield what stands in the place of a wording."""
    for wording in wordings:
        text_before, _, text_after = wording.partition("{}")
        if wording and text.startswith(text_before) and text.endswith(text_after):
            inner = text[len(text_before) : len(text) - len(text_after)]
            if inner:
                yield inner
