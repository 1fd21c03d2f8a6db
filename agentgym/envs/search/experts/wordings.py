"""Reading questions: the wordings of the relations, inverted.

What the generator words by putting names and phrases into ``{}``, this takes apart again: a
question becomes a tree of relations over names. Wordings begin with a small letter and names with a
capital one, so that what stands in a place is one or the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from agentgym.envs.search.generator.relations import RELATIONS, Relation

CACHED_QUESTIONS = 4096
LONGEST_QUESTION = 1000
"""Most characters of a question that is read."""
_NAME = re.compile(r"(?:the )?([A-Z0-9]\S*(?: (?:and |of |the )*[A-Z0-9&]\S*)*)")
_PLAIN = re.compile(r"(?:Who|What) is (.+)\?")
_WHICH = re.compile(r"Which (.+)\?")


@dataclass(frozen=True)
class Mention:
    """Something that the question names."""

    title: str


@dataclass(frozen=True)
class Value:
    """The value that a thing has by a relation: the author of a book."""

    relation: Relation
    of: Phrase
    plain: bool = False
    """Whether the question is worded plainly, so that queries are parts of it."""


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
class Intersection:
    """The one thing that has two values, by a relation each."""

    first: Holder
    second: Holder


@dataclass(frozen=True)
class ComparisonPhrase:
    """Which of two things has the smaller, or the greater, value by a relation."""

    relation: Relation
    first: Phrase
    second: Phrase
    greater: bool


Phrase = Mention | Value | Holder
"""What stands for one thing."""
Meaning = Value | Holder | Count | Intersection | ComparisonPhrase
"""What a question asks for."""


@lru_cache(CACHED_QUESTIONS)
def read_question(text: str) -> Meaning | None:
    """Return what a question asks for, or None if it is not worded as the generator words."""
    return next(_questions(" ".join(text[:LONGEST_QUESTION].split())), None)


# -- the wordings ----------------------------------------------------------------------------------


class Wording(NamedTuple):
    """A wording that can be recognised."""

    pattern: re.Pattern[str]
    """What it looks like; a group for each place."""
    relation: Relation
    """What it asks for."""


Recognitions = Iterator[tuple[Relation, tuple[str, ...]]]


def _recognised(field: str, text: str, limit: int | None = None) -> Recognitions:
    """Yield the wordings of one field of the table that a text has, with what fills their places.

    Args:
        field: Field of :class:`Relation`.
        text: The text.
        limit: Wordings of each relation to look at; None: all.
    """
    for wording in _wordings(field, limit):
        match = wording.pattern.fullmatch(text)
        if match is not None:
            yield wording.relation, match.groups()


@cache
def _wordings(field: str, limit: int | None) -> tuple[Wording, ...]:
    """Compile one field of the table."""
    return tuple(
        Wording(re.compile("(.+)".join(map(re.escape, text.split("{}")))), relation)
        for relation in RELATIONS.values()
        for text in _texts(getattr(relation, field))[:limit]
    )


def _texts(field: str | tuple[str, ...]) -> tuple[str, ...]:
    return field if isinstance(field, tuple) else (field,) * bool(field)


# -- what they mean --------------------------------------------------------------------------------


def _questions(text: str) -> Iterator[Meaning]:
    """Yield what a question can mean, the plainest meaning first."""
    plain_match = _PLAIN.fullmatch(text)
    if plain_match is not None:
        phrases = _phrases(plain_match[1], None, is_plain=True)
        yield from (phrase for phrase in phrases if isinstance(phrase, Value))
    for relation, (inner,) in _recognised("questions", text):
        yield from (Value(relation, of) for of in _phrases(inner, relation.subject))
    for relation, (inner,) in _recognised("inverse_questions", text):
        yield from (Holder(relation, value) for value in _phrases(inner, relation.object))
    for relation, (inner,) in _recognised("count", text):
        yield from (Count(relation, value) for value in _phrases(inner, relation.object))
    for field in ("earlier", "later"):
        for relation, pair in _recognised(field, text):
            for first, second in _parted(" or ".join(pair), " or "):
                sides = _phrases(first, relation.subject), _phrases(second, relation.subject)
                for left_side, right_side in product(*sides):
                    yield ComparisonPhrase(
                        relation, left_side, right_side, greater=field == "later"
                    )
    match = _WHICH.fullmatch(text)
    for first, second in _parted(match[1], " and ") if match else ():
        # Before the first predicate stands a noun of one word or more.
        for _, predicate in _parted(first, " "):
            for left_side, right_side in product(_holders(predicate), _holders(second)):
                yield Intersection(left_side, right_side)


def _parted(text: str, word: str) -> Iterator[tuple[str, str]]:
    """Yield the two parts of a text, at each place where a word could part it."""
    for middle in re.finditer(word, text):
        yield text[: middle.start()], text[middle.end() :]


def _holders(predicate: str) -> Iterator[Holder]:
    """Yield what a predicate can say of a thing."""
    for relation, (inner,) in _recognised("predicate", predicate):
        yield from (Holder(relation, value) for value in _phrases(inner, relation.object))


def _phrases(text: str, kind: str | None, *, is_plain: bool = False) -> Iterator[Phrase]:
    """Yield what a noun phrase for a thing of a kind can mean.

    Args:
        text: The phrase.
        kind: The kind; None: any.
        is_plain: Whether it is worded plainly, with the first phrase of each relation.
    """
    name = _NAME.fullmatch(text)
    if name is not None:
        yield Mention(name[1])
        return
    for relation, (inner,) in _recognised("phrases", text, 1 if is_plain else None):
        if kind in (None, relation.object):
            inside = _phrases(inner, relation.subject, is_plain=is_plain)
            yield from (Value(relation, of, is_plain) for of in inside)
    for relation, (inner,) in _recognised("inverse", text) if not is_plain else ():
        if kind in (None, relation.subject):
            yield from (Holder(relation, value) for value in _phrases(inner, relation.object))
