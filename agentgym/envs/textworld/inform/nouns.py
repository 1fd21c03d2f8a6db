"""Which thing a few words of a command mean.

Everything that the player can refer to is matched against the words, and the longest match counts,
as in Inform's parser. Where several things match as well, it matters where each one is and how
likely the player means it; where the best is not alone, the player is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agentgym.envs.textworld.inform import dictionary
from agentgym.envs.textworld.inform.dictionary import ALL_COUNT, ME, Words, key
from agentgym.envs.textworld.inform.grammar import (
    MULTIPLE,
    NOUNS,
    GrammarLine,
    ParserError,
    prepositions,
)
from agentgym.envs.textworld.inform.story import (
    COMPASS,
    FIXED,
    INVENTORY,
    PLAYER,
)  # fmt: skip
from agentgym.envs.textworld.inform.world_view import WorldView

_CUTTING = frozenset(("Slice", "Dice", "Chop"))
_TAKING = frozenset(("Take", "Disrobe", "Remove"))
_GIVING_UP = frozenset(("Drop", "ThrowAt", "Insert", "PutOn"))
_ARTICLES = dictionary.DEFINITE | dictionary.INDEFINITE | dictionary.MINE | dictionary.THEIRS


@dataclass
class NounMatch:
    """The candidates for some words.

    Attributes:
        start: Index of the first word.
        length: Words that the best candidates match.
        things: The candidates, in order of scope.
    """

    start: int
    length: int = 0
    things: list[str] = field(default_factory=list)

    def add(self, thing: str, length: int) -> None:
        """Take a candidate if it matches at least as many words as those before."""
        if length > self.length:
            self.length, self.things = length, [thing]
        elif length == self.length and thing not in self.things:
            self.things.append(thing)


def in_scope(view: WorldView, *, held_first: bool = False) -> Iterator[str]:
    """Yield what the player may refer to, in the order in which the parser looks."""
    if held_first:
        yield from view.contents(INVENTORY)
    yield from visible_in(view, view.room)
    if not held_first:
        yield from view.contents(INVENTORY)


def visible_in(view: WorldView, holder: str) -> Iterator[str]:
    """Yield what can be seen in or on something, each thing followed by what it shows."""
    for thing in view.contents(holder):
        yield thing
        if thing in view.children and view.shows(thing):
            yield from visible_in(view, thing)


def find(
    view: WorldView, words: list[str], at: int, things: Iterable[str], it: str, *,
    loose: bool = False,
) -> NounMatch:  # fmt: skip
    """Match words against things and return the best candidates.

    Args:
        view: The state.
        words: The command.
        at: Index of the first word of the noun; at the end everything matches.
        things: What may be meant, in order.
        it: What the word ``it`` stands for.
        loose: Whether a thing that no word names is a candidate too, the worst.
    """
    match = NounMatch(at)
    if at >= len(words):
        match.things = list(dict.fromkeys(things))
        return match
    word, story = words[at], view.story
    known = story.vocabulary.called(word)
    for thing in things:
        if (word in ME and thing == PLAYER) or (word == "it" and thing == it):
            match.add(thing, 1)
        if thing in known:
            food = story.kitchen and thing in story.entities and "f" in story.entities[thing].kinds
            done = tuple(map(key, view.done_to(thing))) if food else ()
            match.add(thing, story.vocabulary.count(thing, words, at, done))
        elif loose:
            match.add(thing, 0)
    return match


@dataclass
class Descriptors:
    """What articles and the like in front of a noun say.

    Attributes:
        indefinite: Whether any fitting thing will do.
        plural: Whether several are wanted.
        count: How many; ``ALL_COUNT`` for all.
        mine: Whether it must be carried.
        there: Whether it must lie in the room.
        owner: Who must have it; ``None`` for anyone.
        lit: Whether it must give light, which nothing here does.
        loose: Whether a word was taken that may belong to the name.
        guessed: Whether a number was taken for a count.
    """

    indefinite: bool = False
    plural: bool = False
    count: int = 0
    mine: bool = False
    there: bool = False
    owner: str | None = None
    lit: bool = False
    loose: bool = False
    guessed: bool = False

    def take(self, word: str, it: str, *, number: bool) -> bool:
        """Take in one word and tell whether it is of this kind; ``number``: whether numbers are."""
        if word in dictionary.ARTICLE_LIKE:
            self.loose = True
            self.indefinite |= word not in dictionary.DEFINITE
            self.mine |= word in dictionary.MINE
            self.there |= word in dictionary.THEIRS
            self.lit |= word in dictionary.LIT and word != "unlit"
            if word in dictionary.OWNED:
                self.owner = it if word == "its" and it else ""
        elif word in dictionary.OTHER:
            self.indefinite = True
        elif word in dictionary.ALL:
            self.indefinite = self.plural = True
            self.count = ALL_COUNT
        elif number and (count := dictionary.number(word)):
            self.indefinite = True
            if count > 1:
                self.guessed = self.plural = True
                self.count = count
        else:
            return False
        return True


@dataclass(frozen=True)
class NounPosition:
    """Where in a line of grammar a noun stands.

    Attributes:
        line: The line.
        index: Index of the token.
        token: Kind of noun.
        before: Nouns before this one.
        second: The second noun, if it is known already.
    """

    line: GrammarLine
    index: int
    token: str
    before: list[str]
    second: str


def likelihood(view: WorldView, line: GrammarLine, first: str, second: str, command: str) -> int:
    """Score a pair of nouns, in the order in which they are typed, by how likely they are meant.

    As TextWorld's "Does the player mean" rules do: 4 very likely, 3 likely, 2 possible, 0 very
    unlikely.
    """
    noun, other = (second, first) if line.swapped else (first, second)
    blunt = line.action in _CUTTING and not view.has(other, "sharp")
    if (line.action == "Cook" or blunt) and noun in view.story.entities and view.held(other):
        return 0
    if line.action == "Take" and view.held(noun):
        return 0
    named = [_is_named(view, thing, command) for thing in (noun, other) if thing]
    return 2 + len(named) if named and all(named) else 2


def _is_named(view: WorldView, thing: str, command: str) -> bool:
    """Tell whether a command holds the whole printed name of a thing."""
    if thing in COMPASS:
        return thing in command
    entity = view.story.entities.get(thing)
    return (entity.name if entity else "yourself") in command


class Disambiguator:
    """Choose what the nouns of one command mean.

    What it finds out about the noun after an unclear one is kept for all lines of grammar: the
    first line that asks decides for all, as in Inform.
    """

    def __init__(self, view: WorldView, words: Words, it: str) -> None:
        self._view, self._words, self._it = view, words, it
        self._others: list[str] | None = None
        self._searched = False
        self.few = 0
        """How many things there were where more were wanted."""

    def choose(
        self, place: NounPosition, wanted: Descriptors, match: NounMatch
    ) -> str | list[str] | ParserError:
        """Choose among candidates.

        Returns:
            The thing; nothing if the player must choose; a list if several are wanted; an error.
        """
        things = match.things
        if len(things) == 1:
            excluded = wanted.plural and not self._included(place.line, things[0])
            return ParserError.STUCK if excluded else things[0]
        good = [self._good(place, thing) for thing in things]
        if sum(good) == 1:
            only = things[good.index(True)]
            if not (wanted.plural and place.token in MULTIPLE) or self._included(place.line, only):
                return only
        if place.token == "creature" and not any(good):
            return things[0]
        scored = [(thing, points + 1000 * fits) for thing, fits in zip(things, good, strict=True)
                  if (points := self._score(place, thing, wanted, match)) is not None]  # fmt: skip
        if not scored:
            return ParserError.STUCK
        if wanted.plural:
            return self._several(place, wanted, scored)
        best = max(points for _, points in scored)
        top = [thing for thing, points in scored if points == best]
        return top[0] if wanted.indefinite or len(top) == 1 else ""

    def _good(self, place: NounPosition, thing: str) -> bool:
        """Tell whether a candidate is where its kind of noun is looked for first."""
        view, token = self._view, place.token
        if token in ("held", "multiheld"):
            return view.held(thing)
        if token == "multi":
            return thing not in COMPASS and thing != PLAYER
        if token == "multiexcept":
            return thing != place.second
        if token == "multiinside":
            inside = place.second
            return thing in view.contents(inside) if inside else not view.held(thing)
        return token == "creature" and thing == PLAYER

    def _score(
        self, place: NounPosition, thing: str, wanted: Descriptors, match: NounMatch
    ) -> int | None:
        """Give a candidate its points; ``None`` if it lacks what the words ask for."""
        view = self._view
        if thing in COMPASS:
            parent = ""
        elif thing == PLAYER:
            parent = view.room
        else:
            parent = view.parent[thing]
        if wanted.lit or (wanted.mine and parent != INVENTORY):
            return None
        if (wanted.there and parent != view.room) or wanted.owner not in (None, parent):
            return None
        taking = place.line.action in ("Take", "Remove")
        held, here = (40, 60) if taking else (60, 40)
        points = {INVENTORY: held, view.room: here, "": 0}.get(parent, 20)
        points += 0 if thing == PLAYER else 105
        return points + 1000 * self._likely(place, thing, match)

    def _likely(self, place: NounPosition, thing: str, match: NounMatch) -> int:
        """Score a candidate together with what the other noun may be."""
        if not self._searched:
            self._searched = True
            self._others = self._nouns_after(place, match)
        command = " ".join(self._words.typed)
        if place.before:
            return likelihood(self._view, place.line, place.before[0], thing, command)
        if self._others is None:
            return likelihood(self._view, place.line, thing, place.second, command)
        return max((likelihood(self._view, place.line, thing, other, command)
                    for other in self._others), default=0)  # fmt: skip

    def _nouns_after(self, place: NounPosition, match: NounMatch) -> list[str] | None:
        """Find what the noun after this one may mean; ``None`` if there is none."""
        after = [token for token in place.line.tokens[place.index + 1 :] if isinstance(token, str)]
        if not after or after[0] not in NOUNS - {"direction", "switched"}:
            return None
        # Any preposition of any verb is skipped, not only that of this line: so does Inform.
        skipped = prepositions(bool(self._view.story.kitchen)) | dictionary.ALL
        at = match.start + match.length
        while at < len(self._words) and self._words[at] in skipped:
            at += 1
        if at >= len(self._words) or self._words[at] in dictionary.THEN:
            return None
        while at < len(self._words) and self._words[at] in _ARTICLES:
            at += 1
        things = in_scope(self._view, held_first=True)
        return find(self._view, self._words, at, things, self._it).things

    def _included(self, line: GrammarLine, thing: str) -> bool:
        """Tell whether ``all`` may include a thing, as far as rules of the game forbid."""
        if line.action in _TAKING:
            entity = self._view.story.entities.get(thing)
            return entity is not None and not entity.kinds & FIXED
        return not (line.action in _GIVING_UP and thing == PLAYER)

    def _several(
        self, place: NounPosition, wanted: Descriptors, scored: list[tuple[str, int]]
    ) -> list[str] | ParserError:
        """Make the list for ``all`` or a number."""
        if place.token not in MULTIPLE:
            return ParserError.MULTI
        view, found = self._view, list[str]()
        for thing, _ in sorted(scored, key=lambda pair: -pair[1]):
            if len(found) >= wanted.count:
                break
            held = view.held(thing)
            accepted = thing != PLAYER and self._included(place.line, thing)
            if place.token in ("multiheld", "multiexcept"):
                accepted = accepted and held
            if place.line.action in ("Take", "Remove"):
                accepted = accepted and not held
            if accepted:
                found.append(thing)
        if len(found) < wanted.count < ALL_COUNT:
            self.few = len(found)
            return ParserError.TOOFEW
        return found
