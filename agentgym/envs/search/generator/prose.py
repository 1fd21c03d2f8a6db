"""Articles of the encyclopaedia: written from facts, and read again.

Reading needs no universe: title, text and the tables of kinds and relations are enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from agentgym.envs.search.generator.config import GeneratorConfig
from agentgym.envs.search.generator.facts import TODAY, UniverseFacts
from agentgym.envs.search.generator.kinds import KINDS
from agentgym.envs.search.generator.relations import RELATIONS
from agentgym.envs.search.generator.templates import PRONOUNS, SUBJECT, QuestionTemplate, article
from agentgym.envs.search.generator.vocabulary import WORDS
from agentgym.support.random_stream import Stream

MAN, WOMAN, THING = range(3)
"""Places in the forms of a pronoun."""
_PRONOUNS = tuple(
    {slot: forms[place] for slot, forms in PRONOUNS.items()} for place in (MAN, WOMAN, THING)
)
_SPANS = {"few": (3, 40), "number": (60, 9_900)}
"""Least and greatest number in slots for numbers."""
_LATER = (16, 66)
"""How many years after the beginning of a thing that happened which is told in passing."""
_OLD, _RECENT = 1790, 1900
"""Of what began before the first year, only what happened after the second is told in passing."""
_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z])")

_Filler = Callable[[Stream, int], str]


class Writer:
    """Writes the articles of one universe.

    Args:
        config: How it writes.
        facts: What it writes about.
    """

    def __init__(self, config: GeneratorConfig, facts: UniverseFacts) -> None:
        self._config = config
        self._facts = facts
        self._fillers: dict[str, _Filler] = {}
        self._stated = {
            kind: [name for name in facts.values if RELATIONS[name].subject == kind]
            for kind in facts.entities
        }
        self._columns = {
            kind: [(name, facts.values[name], facts.texts(name)) for name in names]
            for kind, names in self._stated.items()
        }
        self._groups = {kind: self._stating(kind) for kind in facts.entities}
        self._mentions = {kind: self._wordings(KINDS[kind].mentions) for kind in facts.entities}
        self._former = {kind: self._wordings((self._outdated(kind),))[0] for kind in facts.entities}

    def text(self, entity: int) -> str:
        """Write the article about a thing."""
        facts, config = self._facts, self._config
        kind = facts.kind(entity)
        values = self._values(kind, entity)
        groups = self._groups[kind]
        stream = facts.stream("article", entity)
        if not config.is_plain:
            if len(groups) > 2 and stream.below(2):
                groups = [groups[0], *groups[:0:-1]]
            extra = [group for group in self._mentions[kind] if stream.percent(config.mentions)]
            if self._former[kind] and stream.percent(config.former):
                extra.insert(stream.below(len(extra) + 1), self._former[kind])
            groups = groups + extra
        return " ".join([self._sentence(stream, entity, group, values) for group in groups])

    def _sentence(
        self,
        stream: Stream,
        entity: int,
        group: tuple[QuestionTemplate, ...],
        values: dict[str, str],
    ) -> str:
        """Write one of the sentences of a group."""
        template = group[stream.below(len(group))] if len(group) > 1 else group[0]
        words = [
            values[slot] if slot in values else self._filler(slot)(stream, entity)
            for slot in template.slots
        ]
        sentence = template.layout % tuple(words)
        return sentence if sentence[0].isupper() else sentence[0].upper() + sentence[1:]

    def _values(self, kind: str, entity: int) -> dict[str, str]:
        """Return what the slots about a thing hold."""
        facts = self._facts
        sex = (WOMAN if facts.women[entity] else MAN) if kind == "person" else THING
        values = {**_PRONOUNS[sex], SUBJECT: facts.mention(entity)}
        place = entity - facts.entities[kind].start
        for name, column, texts in self._columns[kind]:
            value = column[place]
            values[name] = str(value) if texts is None else texts[value]
            if name in WORDS:
                values[f"a {name}"] = article(values[name])
        return values

    def _filler(self, slot: str) -> _Filler:
        """Return what draws the filling of a slot that states nothing."""
        filler = self._fillers.get(slot)
        if filler is None:
            filler = self._fillers[slot] = self._new_filler(slot)
        return filler

    def _new_filler(self, slot: str) -> _Filler:
        facts = self._facts
        noun = slot.rpartition(" ")[2]
        if slot.startswith("a "):
            inner = self._filler(slot.removeprefix("a "))
            return lambda stream, entity: article(inner(stream, entity))
        if slot.startswith("former "):
            kind = RELATIONS[noun].object
            return lambda stream, entity: self._other_entity(
                stream, kind, entity, facts.value(noun, entity)
            )
        if noun in WORDS:
            return lambda stream, _: stream.choice(WORDS[noun])
        if noun == "year":
            return self._year
        if noun in _SPANS:
            return lambda stream, _: str(stream.between(*_SPANS[noun]))
        kind = noun if noun in facts.entities else "person"
        return lambda stream, entity: self._other_entity(stream, kind, entity, entity)

    def _other_entity(self, stream: Stream, kind: str, entity: int, but: int) -> str:
        """Return the name of something in the life of a thing, but not of a certain other one."""
        facts = self._facts
        entities = facts.entities[kind]
        if kind == "person":
            entities = facts.alive(min(self._past(entity) + _LATER[0], TODAY))
        drawn = entities[stream.below(len(entities))]
        if drawn == but:
            drawn = entities[(drawn + 1 - entities.start) % len(entities)]
        return facts.names[drawn]

    def _year(self, stream: Stream, entity: int) -> str:
        """Draw a year in which something may have happened to a thing."""
        return str(min(self._past(entity) + stream.between(*_LATER), TODAY - 1))

    def _past(self, entity: int) -> int:
        """Return the year in which the past of a thing begins, so far as it is told."""
        year = self._facts.years[entity]
        return year if year >= _OLD else _RECENT

    def _stating(self, kind: str) -> list[tuple[QuestionTemplate, ...]]:
        """Return the groups of sentences that state the facts of a kind."""
        stated = self._stated[kind]
        if self._config.is_plain:
            return [(_template(RELATIONS[name].plain_phrase),) for name in stated]
        return self._wordings(
            group
            for group in KINDS[kind].sentences
            if all(name in stated for name in _template(group[0]).relations)
        )

    def _outdated(self, kind: str) -> tuple[str, ...]:
        """Return the sentences that contradict facts of a kind which are stated."""
        return tuple(
            text
            for text in KINDS[kind].former
            if all(
                slot.removeprefix("former ") in self._stated[kind]
                for slot in _template(text).slots
                if slot.startswith("former ")
            )
        )

    def _wordings(self, groups: Iterable[tuple[str, ...]]) -> list[tuple[QuestionTemplate, ...]]:
        """Return groups of sentences with as many wordings as wanted."""
        limit = self._config.paraphrases
        return [tuple(_template(text) for text in group[:limit]) for group in groups]


def sentences(text: str) -> list[str]:
    """Return the sentences of an article."""
    return _SENTENCE_END.split(text)


def read_facts(title: str, text: str) -> dict[str, str]:
    """Read what an article states.

    Args:
        title: Title of the article.
        text: Its text; sentences that are cut off or not of this encyclopaedia say nothing.

    Returns:
        The value of each relation that is stated, by the relation's name.
    """
    kinds = [*KINDS]
    values: dict[str, str] = {}
    for sentence in sentences(text):
        for kind in kinds:
            facts = _read_sentence(kind, title, sentence)
            if facts:
                values.update(facts)
                kinds = [kind]
                break
    return values


def _read_sentence(kind: str, title: str, sentence: str) -> dict[str, str]:
    """Read a sentence in an article about a thing of a kind."""
    for template in _readable(kind):
        values = template.read(sentence)
        if values is None:
            continue
        subject = values.pop(SUBJECT, title)
        if subject == title or (subject[:4].lower() == "the " and subject[4:] == title):
            return values
    return {}


@cache
def _readable(kind: str) -> tuple[QuestionTemplate, ...]:
    """Return all sentences that state facts about a kind."""
    full = [_template(text) for group in KINDS[kind].sentences for text in group]
    plain_readings = [
        _template(relation.plain_phrase)
        for relation in RELATIONS.values()
        if relation.subject == kind and relation.phrases
    ]
    return (*full, *plain_readings)


@cache
def _template(text: str) -> QuestionTemplate:
    """Return the template of a text, the same each time."""
    return QuestionTemplate(text)
