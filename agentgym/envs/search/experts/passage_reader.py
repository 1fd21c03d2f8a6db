"""Reading passages: an information block becomes articles, and their sentences become facts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from agentgym.envs.search.generator.prose import read_facts, sentences
from agentgym.support.text_lines import split_lines

CACHED_ARTICLES = 16384
_LINE = re.compile(r'Doc \d+ \(Title: "(.*)"\) ?(.*)')
_ARTICLE = re.compile(r"^the (?=[A-Z0-9])")


class StatedFact(NamedTuple):
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
    facts: tuple[StatedFact, ...]
    """What could be read in it."""


def read_block(block: str) -> list[Article]:
    """Read an information block; what is clipped or worded in another way is passed over."""
    matches = (_LINE.fullmatch(line) for line in split_lines(block))
    return [Article(match[1], read_article(match[1], match[2])) for match in matches if match]


@lru_cache(CACHED_ARTICLES)
def read_article(title: str, text: str) -> tuple[StatedFact, ...]:
    """Return the facts of an article, sentence by sentence."""
    return tuple(
        StatedFact(title, relation, _ARTICLE.sub("", value), sentence)
        for sentence in sentences(text)
        for relation, value in read_facts(title, sentence).items()
    )
