"""Reading passages: an information block becomes articles, and their sentences become facts."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from agentgym.envs.search.generator.kinds import KINDS
from agentgym.envs.search.generator.relations import RELATIONS
from agentgym.envs.search.generator.templates import SUBJECT, Template

CACHED_ARTICLES = 16384
_LINE = re.compile(r'Doc \d+ \(Title: "(.*)"\) ?(.*)')
_SENTENCE = re.compile(r"[^.]+\.")
_ARTICLE = re.compile(r"the (?=[A-Z0-9])")


class Fact(NamedTuple):
    """What a sentence states."""

    subject: str
    """Title of the article that the sentence stands in."""
    relation: str
    """Name of the relation."""
    value: str
    """Its value."""
    sentence: str
    """The sentence."""


class Article(NamedTuple):
    """A passage as it was shown."""

    title: str
    """Its title."""
    facts: tuple[Fact, ...]
    """What could be read in it."""


def read_block(block: str) -> list[Article]:
    """Read an information block; what is clipped or worded in another way is passed over."""
    shown = (_LINE.fullmatch(line) for line in block.splitlines())
    return [Article(found[1], read_article(found[1], found[2])) for found in shown if found]


@lru_cache(CACHED_ARTICLES)
def read_article(title: str, text: str) -> tuple[Fact, ...]:
    """Return the facts of an article."""
    facts: list[Fact] = []
    for sentence in _SENTENCE.findall(text):
        facts += _read_sentence(title, sentence.strip())
    return tuple(facts)


# -- parts -----------------------------------------------------------------------------------------


@cache
def templates() -> tuple[Template, ...]:
    """All sentences that state something, plain ones included."""
    prose = [text for kind in KINDS.values() for group in kind.sentences for text in group]
    plain = [relation.plain for relation in RELATIONS.values() if relation.phrases]
    return tuple(map(Template, [*prose, *plain]))


def _read_sentence(title: str, sentence: str) -> list[Fact]:
    """Return what a sentence of an article states: the first template that fits and names it."""
    for template in templates():
        found = template.read(sentence)
        if found is not None and named(found.pop(SUBJECT, title)) == title:
            return [Fact(title, name, named(value), sentence) for name, value in found.items()]
    return []


def named(text: str) -> str:
    """Return a name without the article that running text puts before it."""
    return _ARTICLE.sub("", text, count=1) if text.startswith("the ") else text
