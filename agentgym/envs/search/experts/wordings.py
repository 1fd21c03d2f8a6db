"""Reading questions: the wordings of the relations, inverted.

What the generator words by putting names and phrases into ``{}``, this takes apart again: a
question becomes a tree of relations over names. Wordings begin with a small letter and names with a
capital one, so that a text is one or the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from agentgym.envs.search.generator.relations import RELATIONS, Relation

CACHED_QUESTIONS = 4096
LONGEST_QUESTION = 1000
"""Most characters of a question that is read."""
_NAME = re.compile(r"(?:the )?([A-Z0-9].*)", re.DOTALL)


@dataclass(frozen=True)
class Name:
    """Something that the question names."""

    title: str


@dataclass(frozen=True)
class Value:
    """The value that a thing has by a relation: the author of a book."""

    relation: Relation
    of: Phrase


@dataclass(frozen=True)
class Holder:
    """The one thing that has a value by a relation: the book of an author."""

    relation: Relation
    value: Phrase


@dataclass(frozen=True)
class Count:
    """How many things have a value by a relation."""

    relation: Relation
    value: Phrase


@dataclass(frozen=True)
class Comparison:
    """Which of two things has the smaller, or the greater, value by a relation."""

    relation: Relation
    first: Phrase
    second: Phrase
    greater: bool


Phrase = Name | Value | Holder
Meaning = Phrase | Count | Comparison


@lru_cache(CACHED_QUESTIONS)
def read_question(text: str) -> Meaning | None:
    """Return what a question asks for, or None if it is not worded as the generator words."""
    return next(_questions(" ".join(text[:LONGEST_QUESTION].split())), None)


# -- parts -----------------------------------------------------------------------------------------


class Wording(NamedTuple):
    """A wording that can be recognised."""

    pattern: re.Pattern[str]
    relation: Relation


class Wordings(NamedTuple):
    """All wordings, by what they ask for."""

    phrases: tuple[Wording, ...]
    inverse: tuple[Wording, ...]
    questions: tuple[Wording, ...]
    inverse_questions: tuple[Wording, ...]
    count: tuple[Wording, ...]
    earlier: tuple[Wording, ...]
    later: tuple[Wording, ...]


@cache
def wordings() -> Wordings:
    """Compile the table of relations."""
    return Wordings(
        *(
            tuple(
                Wording(_pattern(text), relation)
                for relation in RELATIONS.values()
                for text in getattr(relation, field)
            )
            for field in Wordings._fields
        )
    )


def _pattern(wording: str) -> re.Pattern[str]:
    """Return what recognises a wording and what stands in its places."""
    return re.compile("(.+)".join(map(re.escape, wording.split("{}"))))


def _matches(found: tuple[Wording, ...], text: str) -> Iterator[tuple[Relation, tuple[str, ...]]]:
    for wording in found:
        match = wording.pattern.fullmatch(text)
        if match is not None:
            yield wording.relation, match.groups()


def _questions(text: str) -> Iterator[Meaning]:
    known = wordings()
    for relation, (inner,) in _matches(known.questions, text):
        yield from (Value(relation, of) for of in _phrases(inner, relation.subject))
    for relation, (inner,) in _matches(known.inverse_questions, text):
        yield from (Holder(relation, of) for of in _phrases(inner, relation.object))
    for relation, (inner,) in _matches(known.count, text):
        yield from (Count(relation, of) for of in _phrases(inner, relation.object))
    for greater in (False, True):
        for relation, pair in _matches(known.later if greater else known.earlier, text):
            yield from _comparisons(relation, " or ".join(pair), greater)


def _comparisons(relation: Relation, pair: str, greater: bool) -> Iterator[Comparison]:
    """Take two phrases apart, wherever the ``or`` between them stands."""
    for middle in re.finditer(" or ", pair):
        for first in _phrases(pair[: middle.start()], relation.subject):
            for second in _phrases(pair[middle.end() :], relation.subject):
                yield Comparison(relation, first, second, greater)


def _phrases(text: str, kind: str) -> Iterator[Phrase]:
    """Yield what a noun phrase for a thing of a kind can mean."""
    name = _NAME.fullmatch(text)
    if name is not None:
        yield Name(name[1])
        return
    known = wordings()
    for relation, (inner,) in _matches(known.phrases, text):
        if relation.object == kind:
            yield from (Value(relation, of) for of in _phrases(inner, relation.subject))
    for relation, (inner,) in _matches(known.inverse, text):
        if relation.subject == kind:
            yield from (Holder(relation, of) for of in _phrases(inner, relation.object))
