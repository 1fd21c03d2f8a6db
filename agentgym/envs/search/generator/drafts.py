"""Questions before they are checked: targets, descriptions of them, and what is asked.

Every question is built backwards from a target, the last thing that its answer depends on: it asks
something of the target and, if it has more hops, describes the target by things that lead to it. A
description fits one thing only, so questions of one shape with different targets are different
questions. The answers are unique: whatever is asked has one value, and an inverse step ("the book
written by") is taken only where one thing has that value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from agentgym.envs.search.generator.config import GeneratorConfig
from agentgym.envs.search.generator.facts import UniverseFacts
from agentgym.envs.search.generator.relations import MOST, RELATIONS, WORD, YEAR, Relation
from agentgym.support.random_stream import Stream

NUMERALS = ("zero", "one", "two", "three")
"""Counts in words, which are accepted beside digits."""
_NOUNS = ("occupation", "genre")
"""Relations whose values are nouns for the things that have them."""
_TRIES = 6
"""Draws of a step before a description is given up."""


@dataclass(frozen=True)
class QuestionStep:
    """One search of a plan."""

    query: str
    """What to search for."""
    gold: tuple[int, ...]
    """The things whose articles it must find."""


@dataclass(frozen=True)
class QuestionDraft:
    """A question that nobody has tried to answer yet."""

    text: str
    """The question."""
    answers: tuple[str, ...]
    """Accepted answers; the first is the usual form."""
    steps: tuple[QuestionStep, ...]
    """The searches that find the evidence."""
    hidden: tuple[str, ...] = ()
    """What searching for the question itself must not show."""


@dataclass(frozen=True)
class _Description:
    """Words that fit one thing, and the searches that tell which."""

    text: str
    steps: tuple[QuestionStep, ...] = ()


class Drafter:
    """Drafts questions about one universe.

    Args:
        config: How questions are worded.
        facts: What they are about.
    """

    def __init__(self, config: GeneratorConfig, facts: UniverseFacts) -> None:
        self._config = config
        self._facts = facts
        relations = [RELATIONS[name] for name in facts.values if RELATIONS[name].object != WORD]
        self._of: dict[str, list[Relation]] = {kind: [] for kind in facts.entities}
        self._into: dict[str, list[Relation]] = {kind: [] for kind in facts.entities}
        for relation in relations:
            if not config.asked or relation.name in config.asked:
                self._of[relation.subject].append(relation)
            if relation.object != YEAR:
                self._into[relation.object].append(relation)

    def targets(self, kind: str, hops: int) -> list[list[int]]:
        """Return the things that questions of a shape can be about.

        Counts have a list for each answer, from 1 up, which should come equally often; the others
        have one list.
        """
        if kind == "count":
            return [self._counted(number, hops) for number in range(1, MOST + 1)]
        targets: list[int] = []
        for name, entities in self._facts.entities.items():
            relations = self._of[name]
            if kind == "comparison":
                fit = any(relation.earlier for relation in relations)
            else:
                telling = sum(bool(r.predicate) for r in relations)
                fit = bool(relations) if kind == "chain" else telling > 1
            if fit:
                targets += entities
        # The target of an intersection is found by its values, the others by who leads to them.
        alone = hops < (4 if kind == "comparison" else 2) or kind == "intersection"
        return [targets if alone else self._describable(targets)]

    def draft(
        self, kind: str, hops: int, entity: int, count: int, stream: Stream
    ) -> QuestionDraft | None:
        """Draft a question.

        Args:
            kind: Kind of question.
            hops: Number of searches.
            entity: Target, out of list number ``count`` - 1 of :meth:`targets`.
            count: The answer of questions of kind ``count``.
            stream: Draws.

        Returns:
            The question, or None if the draws led nowhere.
        """
        if kind == "chain":
            return self._chain(hops, entity, stream)
        if kind == "comparison":
            return self._comparison(hops, entity, stream)
        if kind == "intersection":
            return self._intersection(hops, entity, stream)
        return self._count(hops, entity, count, stream)

    # -- the kinds of questions ------------------------------------------------------------------

    def _chain(self, hops: int, entity: int, stream: Stream) -> QuestionDraft | None:
        """Ask for a value of the target, or for the only thing that has the target as value."""
        facts = self._facts
        inverse = self._had_by(entity, stream)
        visited = [entity] if inverse is None else [entity, inverse[1]]
        described = self._described(entity, hops - 1, stream, visited, is_read=inverse is None)
        if described is None:
            return None
        if inverse is not None:
            relation, value = inverse
            text = self._worded(relation.inverse_questions, stream)
            step = self._finding(relation, entity, (value,))
            answer = facts.names[value]
        else:
            relation = stream.choice(self._of[facts.kind(entity)])
            text = self._question(relation, stream)
            step = self._reading(relation, entity)
            value = facts.value(relation.name, entity)
            answer = facts.text(relation.name, value)
            if relation.object != YEAR and value in visited:
                return None
        if answer in described.text:
            return None
        # Where people are local, the first passage often holds the answer: by chance.
        hidden = (answer,) if hops > 1 and not self._config.local else ()
        return QuestionDraft(
            text.format(described.text), (answer,), (*described.steps, step), hidden
        )

    def _comparison(self, hops: int, entity: int, stream: Stream) -> QuestionDraft | None:
        """Ask which of two things began earlier or later."""
        facts = self._facts
        kind = facts.kind(entity)
        # No pair is asked about twice: the target is the one with the smaller number.
        rivals = range(entity + 1, facts.entities[kind].stop)
        if not rivals:
            return None
        rival = rivals[stream.below(len(rivals))]
        if facts.years[entity] == facts.years[rival]:
            return None
        pair = stream.shuffled((entity, rival))
        visited = [entity, rival]
        first = self._described(pair[0], hops // 2 - 1, stream, visited, is_read=True)
        second = self._described(pair[1], (hops + 1) // 2 - 1, stream, visited, is_read=True)
        if first is None or second is None:
            return None
        relation = next(relation for relation in self._of[kind] if relation.earlier)
        later = stream.below(2) == 1
        text = self._worded(relation.later if later else relation.earlier, stream)
        # Things of a kind are numbered by age.
        answer = max(pair) if later else min(pair)
        reads = [self._reading(relation, member) for member in pair]
        steps = (*first.steps, reads[0], *second.steps, reads[1])
        # Neither may be shown, or the one that is not would be the answer more often.
        hidden = (facts.names[entity], facts.names[rival]) if hops > 3 else ()
        text = text.format(first.text, second.text)
        return QuestionDraft(text, (facts.names[answer],), steps, hidden)

    def _intersection(self, hops: int, entity: int, stream: Stream) -> QuestionDraft | None:
        """Ask for the target as the only thing with two values, each of which several have."""
        facts = self._facts
        kind = facts.kind(entity)
        telling = [relation for relation in self._of[kind] if relation.predicate]
        pair = stream.sample(telling, 2)
        values = [facts.value(relation.name, entity) for relation in pair]
        having = [facts.having(r.name, value) for r, value in zip(pair, values, strict=True)]
        if min(map(len, having)) < 2 or set(having[0]).intersection(having[1]) != {entity}:
            return None
        visited = [entity, *values]
        shares = stream.shuffled((hops // 2, (hops - 1) // 2))
        first = self._described(values[0], shares[0], stream, visited, is_read=False)
        second = self._described(values[1], shares[1], stream, visited, is_read=False)
        if first is None or second is None:
            return None
        predicates = [relation.predicate for relation in pair]
        text = f"Which {self._noun(kind, entity)} {predicates[0]} and {predicates[1]}?"
        names = " ".join(facts.names[value] for value in values)
        step = QuestionStep(f"{names} {pair[0].words} {pair[1].words}", (entity,))
        steps = (*first.steps, *second.steps, step)
        answers = (facts.names[entity],)
        text = text.format(first.text, second.text)
        return QuestionDraft(text, answers, steps, answers if hops > 1 else ())

    def _count(self, hops: int, entity: int, count: int, stream: Stream) -> QuestionDraft | None:
        """Ask how many things have the target as value."""
        facts = self._facts
        relations = [
            relation
            for relation in self._into[facts.kind(entity)]
            if relation.count and len(facts.having(relation.name, entity)) == count
        ]
        relation = stream.choice(relations)
        holders = facts.having(relation.name, entity)
        described = self._described(entity, hops - 1, stream, [entity, *holders], is_read=False)
        if described is None:
            return None
        text = self._worded(relation.count, stream).format(described.text)
        step = self._finding(relation, entity, tuple(holders))
        return QuestionDraft(text, (str(count), NUMERALS[count]), (*described.steps, step))

    # -- descriptions ----------------------------------------------------------------------------

    def _described(
        self, entity: int, hops: int, stream: Stream, visited: list[int], is_read: bool
    ) -> _Description | None:
        """Describe a thing by a chain of others.

        Args:
            entity: What to describe.
            hops: Length of the chain; 0 gives the name.
            stream: Draws.
            visited: Things that the chain must not lead through; those that it does are added.
            is_read: Whether the thing's article will be searched for anyway. An inverse step is
                then avoided: its search would show the same article and make the next search
                superfluous.

        Returns:
            The description, or None if the draws found no such chain.
        """
        facts = self._facts
        if not hops:
            return _Description(facts.mention(entity))
        into = [
            (relation, having)
            for relation in self._into[facts.kind(entity)]
            if relation.phrases and (having := facts.having(relation.name, entity))
        ]
        for _ in range(_TRIES):
            inverse = None if is_read else self._only_with(entity, stream)
            if inverse is not None:
                relation, source = inverse
                phrases = relation.inverse
                step = self._finding(relation, source, (entity,))
            elif into:
                relation, having = stream.choice(into)
                phrases, source = relation.phrases, stream.choice(having)
                step = self._reading(relation, source)
            else:
                continue
            if source in visited:
                continue
            visited.append(source)
            inner = self._described(source, hops - 1, stream, visited, is_read=inverse is None)
            if inner is not None:
                if hops > 1:  # long phrases read best at the end
                    phrases = tuple(p for p in phrases if p.endswith("{}")) or phrases
                text = self._worded(phrases, stream).format(inner.text)
                return _Description(text, (*inner.steps, step))
        return None

    def _only_with(self, entity: int, stream: Stream) -> tuple[Relation, int] | None:
        """Draw a relation by which a thing is the only one with its value, and that value."""
        if not stream.percent(self._config.inverse):
            return None
        facts = self._facts
        inverses = []
        for relation in self._of[facts.kind(entity)]:
            if relation.inverse:
                value = facts.value(relation.name, entity)
                if len(facts.having(relation.name, value)) == 1:
                    inverses.append((relation, value))
        return stream.choice(inverses) if inverses else None

    def _had_by(self, entity: int, stream: Stream) -> tuple[Relation, int] | None:
        """Draw a relation by which only one thing has this one as its value, and that thing."""
        if not stream.percent(self._config.inverse):
            return None
        facts = self._facts
        inverses = []
        for relation in self._into[facts.kind(entity)]:
            if relation.inverse:
                having = facts.having(relation.name, entity)
                if len(having) == 1:
                    inverses.append((relation, having[0]))
        return stream.choice(inverses) if inverses else None

    def _describable(self, entities: list[int]) -> list[int]:
        """Return those of some things that can be described by one other thing at least."""
        return [entity for entity in entities if entity in self._led_to]

    @cached_property
    def _led_to(self) -> set[int]:
        """The things that are a value of others, or the only ones with a value."""
        facts = self._facts
        entities: set[int] = set()
        for relations in self._into.values():
            for relation in relations:
                inverse = facts.inverse(relation.name)
                entities.update(inverse if relation.phrases else ())
                if relation.inverse and self._config.inverse:
                    entities.update(having[0] for having in inverse.values() if len(having) == 1)
        return entities

    def _counted(self, count: int, hops: int) -> list[int]:
        """Return the things that are the value of ``count`` things by a relation."""
        entities: dict[int, None] = {}
        for relations in self._into.values():
            for relation in relations:
                if relation.count:
                    inverse = self._facts.inverse(relation.name)
                    entities.update(
                        (t, None) for t, having in inverse.items() if len(having) == count
                    )
        return list(entities) if hops < 2 else self._describable(list(entities))

    # -- words -----------------------------------------------------------------------------------

    def _reading(self, relation: Relation, entity: int) -> QuestionStep:
        """Return the search for the value that a thing has."""
        name = self._facts.names[entity]
        if self._config.is_plain:
            query = relation.phrases[0].removeprefix("the ").format(name)
        else:
            query = f"{name} {relation.words}"
        return QuestionStep(query, (entity,))

    def _finding(self, relation: Relation, value: int, holders: tuple[int, ...]) -> QuestionStep:
        """Return the search for the things that have a value."""
        return QuestionStep(f"{self._facts.names[value]} {relation.inverse_words}", holders)

    def _question(self, relation: Relation, stream: Stream) -> str:
        """Return a question for a value."""
        if not self._config.is_plain:
            return self._worded(relation.questions, stream)
        return f"{'Who' if relation.object == 'person' else 'What'} is {relation.phrases[0]}?"

    def _worded(self, wordings: tuple[str, ...], stream: Stream) -> str:
        """Draw one of the wordings in use."""
        return wordings[stream.below(min(len(wordings), self._config.paraphrases))]

    def _noun(self, kind: str, entity: int) -> str:
        """Return what a thing is called: its occupation or genre, or its kind."""
        facts = self._facts
        for name, values in facts.values.items():
            if name in _NOUNS and RELATIONS[name].subject == kind:
                return facts.text(name, values[entity - facts.entities[kind].start])
        return kind
