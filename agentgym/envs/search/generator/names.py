"""Names of things that do not exist, from syllables and from everyday words.

Universes of different name spaces share no name. In full style a name is made of syllables, the
last of which comes from a third of all endings, or of two everyday words. In plain style it is a
pair of words out of two lists that do not depend on the seed, so that a closed vocabulary holds
the names of every universe. Pairs of words are dealt to the spaces, a third to each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from agentgym.envs.search.generator.vocabulary import (
    ADJECTIVES,
    MORE_SECOND_WORDS,
    NOUNS,
    SECOND_WORDS,
    UNWANTED,
)
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream

SPACES = 3
"""Number of disjoint name spaces."""


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# What is listed more than once comes more often.
_ONSETS = _listed("b b br c d d dr f g g gl gr h h j k l l m m n n p pr r r s s st t t th tr v v w")
_NUCLEI = _listed("a a a e e i i o o u ae ei")
_MIDDLES = _listed("b d d g l l l m m n n n r r r s t v z ld ll lm lv nd nn rn rv sk st th")
# Per space. No ending of a space ends in an ending of another, or they would share names.
_GIVEN = ("a en iel us eth im or", "is on ine ar old et ie", "o an il er wyn as ulf")
_FAMILY = ("ley mont eld ack arth or usk", "ock ine ast oth ick vin old", "er dale ore ant ulm an")
_PLACE = ("en or ath isk ell una", "ar ost ik onn oss eck", "um ent ew ane alm il")
_TOWN = (*_listed("ford holm by mouth stead bridge"), " Vale", " Cross", " Hill")
_REGION = ("ia", "mark", "shire", "land")
_AFTER_PEOPLE = {"company": 75, "building": 70, "ship": 60, "school": 40, "event": 50}
"""Of the namesakes of a kind, the share called after a family; the others are after a town."""
_COMPOUND = ("town", "region")
"""Kinds whose names put a word and an ending together."""
_PATIENCE = 32
"""Draws of a name before one more syllable is allowed."""
_LIST = 5000
"""Words of a list before one more syllable is allowed."""


def acceptable(word: str) -> bool:
    """Return whether a word holds nothing offensive."""
    return _unwanted().search(word.lower()) is None


@cache
def _unwanted() -> re.Pattern[str]:
    return re.compile("|".join(UNWANTED))


class UniverseNames:
    """The names of one universe, each given once.

    Args:
        space: Name space, from 0 to :data:`SPACES` - 1.
        is_plain: Whether names are pairs out of lists that all seeds share.
        counts: How many things of each kind will be named.
        namesakes: Share of other things, in percent, that are called after a family or a town.
        stream: Draws.
    """

    def __init__(
        self,
        *,
        space: int,
        is_plain: bool,
        counts: Mapping[str, int],
        namesakes: int,
        stream: Stream,
    ) -> None:
        self._space = space
        self._is_plain = is_plain
        self._namesakes = namesakes
        self._stream = stream
        self._used: set[str] = set()
        self._given_out = dict.fromkeys(counts, 0)
        self._towns: list[str] = []
        spaces = range(SPACES) if is_plain else [space]
        self._place = tuple(e for s in spaces for e in _PLACE[s].split())
        # Lists of words of plain names are those of every seed.
        words = Stream("names") if is_plain else stream
        people, families = _sizes(counts, is_plain)
        self._given_names = self._words(
            words, [e for s in spaces for e in _GIVEN[s].split()], people
        )
        self._family = self._words(words, [e for s in spaces for e in _FAMILY[s].split()], families)
        self._second = (
            {kind: _plain_second(kind, counts[kind]) for kind in counts} if is_plain else {}
        )
        towns = counts.get("town", 0) if is_plain else 0
        needed = 4 * towns // len(self._second["town"]) + SPACES if towns else 0
        books = counts.get("book", 0) if is_plain else 0
        nouns = NOUNS[: int((2 * books) ** 0.5) + SPACES]
        number = 4 * books // len(nouns) + SPACES
        more = self._words(words, self._place, number - len(ADJECTIVES))
        self._book_words = (*ADJECTIVES[:number], *more), nouns
        self._sites = self._words(words, self._place, needed)

    def next(self, kind: str) -> str:
        """Return the name of another thing of a kind.

        Raises:
            ConfigurationError: The names are used up.
        """
        for draw in range(_PATIENCE * 64):
            more = draw // _PATIENCE
            name = self._pair(kind, more) if self._is_plain else self._full(kind, more)
            key = name.lower().removeprefix("the ")
            if key not in self._used and (kind not in _COMPOUND or acceptable(name)):
                self._used.add(key)
                self._given_out[kind] += 1
                if kind == "town":
                    self._towns.append(name)
                return name
        raise ConfigurationError(
            f"expected a size for which there are names, but those of kind {kind!r} are used up "
            f"after {self._given_out[kind]:,}; make the universe smaller"
        )

    def _pair(self, kind: str, more: int) -> str:
        """Return a plain name.

        First words take turns, so that every universe has them all; ``more`` skips some.
        """
        first, second = self._lists(kind)
        return self._dealt(first, second, (self._given_out[kind] + more) % len(first))

    def _lists(self, kind: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the first and the second words of a kind's plain names."""
        if kind == "person":
            return self._given_names, self._family
        if kind == "book":
            return self._book_words
        return self._sites if kind == "town" else self._family, self._second[kind]

    def _dealt(self, first: Sequence[str], second: Sequence[str], i: int) -> str:
        """Return a pair of words that belongs to this space, with first word number ``i``."""
        j = self._stream.below(len(second) // SPACES) * SPACES + (self._space - i) % SPACES
        return f"{first[i]} {second[j]}"

    def _full(self, kind: str, more: int) -> str:
        """Return a name in full style, with ``more`` additional syllables."""
        stream = self._stream
        if kind == "person":
            extra = f" {_stem(stream, self._place, more)}" if more else ""
            return f"{stream.choice(self._given_names)}{extra} {stream.choice(self._family)}"
        if kind == "town":
            if stream.percent(50):
                return _stem(stream, self._place, more) + stream.choice(_TOWN)
            return _stem(stream, self._place, more + (stream.below(3) == 0))
        if kind == "region":
            return _stem(stream, self._place, more) + stream.choice(_REGION)
        if kind == "book":
            return self._book_title(more)
        return f"{self._namesake(kind, more)} {stream.choice(SECOND_WORDS[kind])}"

    def _namesake(self, kind: str, more: int) -> str:
        """Return the family, the town or the new word that a thing is called after."""
        stream = self._stream
        if not stream.percent(self._namesakes) or not self._towns:
            return _stem(stream, self._place, more)
        if stream.percent(_AFTER_PEOPLE.get(kind, 15)):
            return stream.choice(self._family)
        return stream.choice(self._towns)

    def _book_title(self, more: int) -> str:
        """Return the title of a book."""
        adjective = self._stream.below(len(ADJECTIVES))
        title = f"The {self._dealt(ADJECTIVES, NOUNS, adjective)}"
        if self._stream.percent(50) and not more:
            return title
        return f"{title} of {self._namesake('book', more)}"

    @staticmethod
    def _words(stream: Stream, endings: Sequence[str], count: int) -> tuple[str, ...]:
        """Return a list of different words made of syllables."""
        words: dict[str, None] = {}
        while len(words) < count:
            words[_stem(stream, endings, len(words) // _LIST)] = None
        return tuple(words)


def _stem(stream: Stream, endings: Sequence[str], more: int) -> str:
    """Return a word of two or more syllables with one of the endings."""
    while True:
        parts = [stream.choice(_ONSETS), stream.choice(_NUCLEI), stream.choice(_MIDDLES)]
        for _ in range(more):
            parts += (stream.choice(_NUCLEI), stream.choice(_MIDDLES))
        word = "".join(parts) + stream.choice(endings)
        if acceptable(word):
            return word[0].upper() + word[1:]


def _plain_second(kind: str, count: int) -> tuple[str, ...]:
    """Return the second words of plain names of a kind of which there are so many."""
    words = SECOND_WORDS.get(kind, ())
    return (
        words
        + MORE_SECOND_WORDS.get(kind, ())[: max(count // 12 - len(words), 0) // SPACES * SPACES]
    )


def _sizes(counts: Mapping[str, int], is_plain: bool) -> tuple[int, int]:
    """Return how many given and family names a universe of these counts needs.

    A third of the pairs is left to a space in plain style; a quarter or more of them stays unused.
    """
    people = counts.get("person", 0)
    if not is_plain:
        given_names = int((people * 2) ** 0.5) // 2 + 24
        return given_names, 3 * given_names
    family_names = [
        4 * count // len(_plain_second(kind, count))
        for kind, count in counts.items()
        if kind in SECOND_WORDS and kind != "town"
    ]
    families = max(int((4 * people) ** 0.5), *family_names, 0) + SPACES
    return 4 * people // families + SPACES, families
