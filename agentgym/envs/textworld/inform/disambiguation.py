"""Choosing among the things that a noun may mean.

Where a thing is, and how likely the player means it, gives it points; where the best is not alone,
the player is asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.envs.textworld.inform import words as lexicon
from agentgym.envs.textworld.inform.errors import Error
from agentgym.envs.textworld.inform.grammar import MULTIPLE, NOUNS, Line, prepositions
from agentgym.envs.textworld.inform.nouns import COMPASS, Match, Vocabulary, find, in_scope
from agentgym.envs.textworld.inform.story import INVENTORY, PLAYER
from agentgym.envs.textworld.inform.words import EVERY, Words
from agentgym.envs.textworld.inform.world_view import Scene

_CUTTING = frozenset(("Slice", "Dice", "Chop"))
_TAKING = frozenset(("Take", "Disrobe", "Remove"))
_GIVING_UP = frozenset(("Drop", "ThrowAt", "Insert", "PutOn"))
_ARTICLES = lexicon.DEFINITE | lexicon.INDEFINITE | lexicon.MINE | lexicon.THEIRS
_FIXED = frozenset(("c", "s", "d"))


@dataclass
class Wanted:
    """What articles and the like in front of a noun say.

    Attributes:
        indefinite: Whether any fitting thing will do.
        plural: Whether several are wanted.
        count: How many; `words.EVERY` for all.
        mine: Whether it must be carried.
        there: Whether it must lie in the room.
        owner: Who must have it; `None` for anyone.
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
        """Take in one word if it is of this kind.

        Args:
            word: The word.
            it: What the word ``it`` stands for.
            number: Whether a number counts things.

        Returns:
            Whether it was taken.
        """
        if word in lexicon.ARTICLE_LIKE:
            self.loose = True
            self.indefinite |= word not in lexicon.DEFINITE
            self.mine |= word in lexicon.MINE
            self.there |= word in lexicon.THEIRS
            self.lit |= word in lexicon.LIT and word != "unlit"
            if word in lexicon.OWNED:
                self.owner = it if word == "its" and it else ""
        elif word in lexicon.OTHER:
            self.indefinite = True
        elif word in lexicon.ALL:
            self.indefinite = self.plural = True
            self.count = EVERY
        elif number and (count := lexicon.number(word)):
            self.indefinite = True
            if count > 1:
                self.guessed = self.plural = True
                self.count = count
        else:
            return False
        return True


@dataclass(frozen=True)
class Place:
    """Where in a line of grammar a noun stands.

    Attributes:
        line: The line.
        index: Index of the token.
        token: Kind of noun.
        before: Nouns before this one.
        second: The second noun, if it is known already.
    """

    line: Line
    index: int
    token: str
    before: list[str]
    second: str


def likelihood(scene: Scene, line: Line, first: str, second: str, command: str) -> int:
    """Score a pair of nouns by how likely the player means them.

    Args:
        scene: The state.
        line: The line of grammar.
        first: Noun that is typed first, or nothing.
        second: Noun that is typed second, or nothing.
        command: The command in lower case.

    Returns:
        4 very likely, 3 likely, 2 possible, 0 very unlikely.
    """
    noun, other = (second, first) if line.swapped else (first, second)
    blunt = line.action in _CUTTING and not scene.has(other, "sharp")
    if (line.action == "Cook" or blunt) and noun in scene.book.entities and scene.held(other):
        return 0
    if line.action == "Take" and scene.held(noun):
        return 0
    named = [_is_named(scene, thing, command) for thing in (noun, other) if thing]
    return 2 + len(named) if named and all(named) else 2


def _is_named(scene: Scene, thing: str, command: str) -> bool:
    """Tell whether a command holds the whole printed name of a thing."""
    if thing in COMPASS:
        return thing in command
    entity = scene.book.entities.get(thing)
    return (entity.name if entity else "yourself") in command


class Chooser:
    """Chooses for one command.

    What it finds out about the noun after an unclear one is kept for all lines of grammar, as
    Inform does.

    Args:
        scene: The state.
        vocabulary: Names of the game.
        words: The command.
        it: What the word ``it`` stands for.
    """

    def __init__(self, scene: Scene, vocabulary: Vocabulary, words: Words, it: str) -> None:
        self._scene, self._vocabulary, self._words, self._it = scene, vocabulary, words, it
        self._others: list[str] | None = None
        self._searched = False
        self.few = 0
        """How many things there were where more were wanted."""

    def choose(self, place: Place, wanted: Wanted, match: Match) -> str | list[str] | Error:
        """Choose among candidates.

        Args:
            place: Where the noun stands.
            wanted: What stands in front of it.
            match: The candidates.

        Returns:
            The thing; nothing if the player must choose; a list if several are wanted; an error.
        """
        things = match.things
        if len(things) == 1:
            excluded = wanted.plural and not self._included(place.line, things[0])
            return Error.STUCK if excluded else things[0]
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
            return Error.STUCK
        if wanted.plural:
            return self._several(place, wanted, scored)
        best = max(points for _, points in scored)
        top = [thing for thing, points in scored if points == best]
        return top[0] if wanted.indefinite or len(top) == 1 else ""

    def _good(self, place: Place, thing: str) -> bool:
        """Tell whether a candidate is where its kind of noun is looked for first."""
        scene, token = self._scene, place.token
        if token in ("held", "multiheld"):
            return scene.held(thing)
        if token == "multi":
            return thing not in COMPASS and thing != PLAYER
        if token == "multiexcept":
            return thing != place.second
        if token == "multiinside":
            inside = place.second
            return thing in scene.contents(inside) if inside else not scene.held(thing)
        return token == "creature" and thing == PLAYER

    def _score(self, place: Place, thing: str, wanted: Wanted, match: Match) -> int | None:
        """Give a candidate its points; `None` if it lacks what the words ask for."""
        scene = self._scene
        if thing in COMPASS:
            parent = ""
        elif thing == PLAYER:
            parent = scene.room
        else:
            parent = scene.parent[thing]
        if wanted.lit or (wanted.mine and parent != INVENTORY):
            return None
        if (wanted.there and parent != scene.room) or wanted.owner not in (None, parent):
            return None
        taking = place.line.action in ("Take", "Remove")
        held, here = (40, 60) if taking else (60, 40)
        points = {INVENTORY: held, scene.room: here, "": 0}.get(parent, 20)
        points += 0 if thing == PLAYER else 105
        return points + 1000 * self._likely(place, thing, match)

    def _likely(self, place: Place, thing: str, match: Match) -> int:
        """Score a candidate together with what the other noun may be."""
        if not self._searched:
            self._searched = True
            self._others = self._nouns_after(place, match)
        command = " ".join(self._words.typed)
        if place.before:
            return likelihood(self._scene, place.line, place.before[0], thing, command)
        if self._others is None:
            return likelihood(self._scene, place.line, thing, place.second, command)
        return max((likelihood(self._scene, place.line, thing, other, command)
                    for other in self._others), default=0)  # fmt: skip

    def _nouns_after(self, place: Place, match: Match) -> list[str] | None:
        """Find what the noun after this one may mean; `None` if there is none."""
        after = [token for token in place.line.tokens[place.index + 1 :] if isinstance(token, str)]
        if not after or after[0] not in NOUNS - {"direction", "switched"}:
            return None
        skipped = prepositions(bool(self._scene.book.kitchen)) | lexicon.ALL
        at = match.start + match.length
        while at < len(self._words) and self._words[at] in skipped:
            at += 1
        if at >= len(self._words) or self._words[at] in lexicon.THEN:
            return None
        while at < len(self._words) and self._words[at] in _ARTICLES:
            at += 1
        things = in_scope(self._scene, held_first=True)
        return find(self._scene, self._vocabulary, self._words, at, things, self._it).things

    def _included(self, line: Line, thing: str) -> bool:
        """Tell whether ``all`` may include a thing, as far as rules of the game forbid."""
        if line.action in _TAKING:
            entity = self._scene.book.entities.get(thing)
            return entity is not None and not entity.kinds & _FIXED
        return not (line.action in _GIVING_UP and thing == PLAYER)

    def _several(
        self, place: Place, wanted: Wanted, scored: list[tuple[str, int]]
    ) -> list[str] | Error:
        """Make the list for ``all`` or a number."""
        if place.token not in MULTIPLE:
            return Error.MULTI
        scene, found = self._scene, list[str]()
        for thing, _ in sorted(scored, key=lambda pair: -pair[1]):
            if len(found) >= wanted.count:
                break
            held = scene.held(thing)
            accepted = thing != PLAYER and self._included(place.line, thing)
            if place.token in ("multiheld", "multiexcept"):
                accepted = accepted and held
            if place.line.action in ("Take", "Remove"):
                accepted = accepted and not held
            if accepted:
                found.append(thing)
        if len(found) < wanted.count < EVERY:
            self.few = len(found)
            return Error.TOOFEW
        return found
