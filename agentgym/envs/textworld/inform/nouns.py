"""Which thing a few words of a command mean.

Everything that the player can refer to is matched against the words, and the longest match counts,
as in Inform's parser. Where several things match as well, it matters where each one is and how
likely the player means it; where the best is not alone, the player is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agentgym.envs.textworld.inform import dictionary
from agentgym.envs.textworld.inform.dictionary import ALL_COUNT, ME, CommandWords, key
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
        length: Number of words that the best candidates match.
        candidates: The things that match, in order of scope.
    """

    start: int
    length: int = 0
    candidates: list[str] = field(default_factory=list)

    def add(self, candidate: str, length: int) -> None:
        """Take a candidate if it matches at least as many words as those before."""
        if length > self.length:
            self.length, self.candidates = length, [candidate]
        elif length == self.length and candidate not in self.candidates:
            self.candidates.append(candidate)


def in_scope(view: WorldView, *, held_first: bool = False) -> Iterator[str]:
    """Yield the things that the player may refer to, in the parser's order."""
    if held_first:
        yield from view.contents(INVENTORY)
    yield from visible_in(view, view.room)
    if not held_first:
        yield from view.contents(INVENTORY)


def visible_in(view: WorldView, holder: str) -> Iterator[str]:
    """Yield the visible things in or on something, each followed by its own visible content."""
    for child in view.contents(holder):
        yield child
        if child in view.children and view.shows(child):
            yield from visible_in(view, child)


def find(
    view: WorldView, words: list[str], position: int, candidates: Iterable[str], antecedent: str, *,
    loose: bool = False,
) -> NounMatch:  # fmt: skip
    """Match words against things and return the best candidates.

    Args:
        view: The state.
        words: The command.
        position: Index of the first word of the noun; at the end everything matches.
        candidates: The things that may be meant, in order.
        antecedent: The thing that the word ``it`` refers to.
        loose: Whether a thing that no word names is a candidate too, the worst.
    """
    match = NounMatch(position)
    if position >= len(words):
        match.candidates = list(dict.fromkeys(candidates))
        return match
    word, story = words[position], view.story
    matching = story.vocabulary.called(word)
    for candidate in candidates:
        if (word in ME and candidate == PLAYER) or (word == "it" and candidate == antecedent):
            match.add(candidate, 1)
        if candidate in matching:
            food = (
                story.kitchen
                and candidate in story.entities
                and "f" in story.entities[candidate].kinds
            )
            processed = tuple(map(key, view.done_to(candidate))) if food else ()
            match.add(candidate, story.vocabulary.count(candidate, words, position, processed))
        elif loose:
            match.add(candidate, 0)
    return match


@dataclass
class Descriptors:
    """The meaning of articles and similar words in front of a noun.

    Attributes:
        indefinite: Whether any fitting thing will do.
        plural: Whether several are wanted.
        count: How many; ``ALL_COUNT`` for all.
        carried: Whether it must be carried.
        in_room: Whether it must lie in the room.
        owner: Who must have it; ``None`` for anyone.
        lit: Whether it must give light, which nothing here does.
        loose: Whether a word was taken that may belong to the name.
        guessed: Whether a number was taken for a count.
    """

    indefinite: bool = False
    plural: bool = False
    count: int = 0
    carried: bool = False
    in_room: bool = False
    owner: str | None = None
    lit: bool = False
    loose: bool = False
    guessed: bool = False

    def take(self, word: str, antecedent: str, *, number: bool) -> bool:
        """Take in one word and tell whether it is of this kind; ``number``: whether numbers are."""
        if word in dictionary.ARTICLE_LIKE:
            self.loose = True
            self.indefinite |= word not in dictionary.DEFINITE
            self.carried |= word in dictionary.MINE
            self.in_room |= word in dictionary.THEIRS
            self.lit |= word in dictionary.LIT and word != "unlit"
            if word in dictionary.OWNED:
                self.owner = antecedent if word == "its" and antecedent else ""
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
    noun, other_noun = (second, first) if line.swapped else (first, second)
    blunt = line.action in _CUTTING and not view.has(other_noun, "sharp")
    if (
        (line.action == "Cook" or blunt)
        and noun in view.story.entities
        and view.carries(other_noun)
    ):
        return 0
    if line.action == "Take" and view.carries(noun):
        return 0
    named = [_is_named(view, entity, command) for entity in (noun, other_noun) if entity]
    return 2 + len(named) if named and all(named) else 2


def _is_named(view: WorldView, noun: str, command: str) -> bool:
    """Tell whether a command holds the whole printed name of a thing."""
    if noun in COMPASS:
        return noun in command
    entity = view.story.entities.get(noun)
    return (entity.name if entity else "yourself") in command


class Disambiguator:
    """Choose the things that the nouns of one command refer to.

    Its findings about the noun after an ambiguous one hold for all grammar lines: the first line
    that asks decides for all, as in Inform.
    """

    def __init__(self, view: WorldView, words: CommandWords, antecedent: str) -> None:
        self._view, self._words, self._antecedent = view, words, antecedent
        self._second_nouns: list[str] | None = None
        self._searched = False
        self.available = 0
        """How many things there were where more were wanted."""

    def choose(
        self, place: NounPosition, descriptors: Descriptors, match: NounMatch
    ) -> str | list[str] | ParserError:
        """Choose among candidates.

        Returns:
            The thing; nothing if the player must choose; a list if several are wanted; an error.
        """
        candidates = match.candidates
        if len(candidates) == 1:
            excluded = descriptors.plural and not self._included(place.line, candidates[0])
            return ParserError.STUCK if excluded else candidates[0]
        good = [self._good(place, candidate) for candidate in candidates]
        if sum(good) == 1:
            only = candidates[good.index(True)]
            if not (descriptors.plural and place.token in MULTIPLE) or self._included(
                place.line, only
            ):
                return only
        if place.token == "creature" and not any(good):
            return candidates[0]
        scored = [
            (candidate, points + 1000 * fits)
            for candidate, fits in zip(candidates, good, strict=True)
            if (points := self._score(place, candidate, descriptors, match)) is not None
        ]
        if not scored:
            return ParserError.STUCK
        if descriptors.plural:
            return self._several(place, descriptors, scored)
        best = max(points for _, points in scored)
        top = [candidate for candidate, points in scored if points == best]
        return top[0] if descriptors.indefinite or len(top) == 1 else ""

    def _good(self, place: NounPosition, candidate: str) -> bool:
        """Tell whether a candidate is where its kind of noun is looked for first."""
        view, token = self._view, place.token
        if token in ("held", "multiheld"):
            return view.carries(candidate)
        if token == "multi":
            return candidate not in COMPASS and candidate != PLAYER
        if token == "multiexcept":
            return candidate != place.second
        if token == "multiinside":
            inside = place.second
            return candidate in view.contents(inside) if inside else not view.carries(candidate)
        return token == "creature" and candidate == PLAYER

    def _score(
        self, place: NounPosition, candidate: str, descriptors: Descriptors, match: NounMatch
    ) -> int | None:
        """Score a candidate; ``None`` if it lacks a property that the words require."""
        view = self._view
        if candidate in COMPASS:
            parent = ""
        elif candidate == PLAYER:
            parent = view.room
        else:
            parent = view.parent[candidate]
        if descriptors.lit or (descriptors.carried and parent != INVENTORY):
            return None
        if (descriptors.in_room and parent != view.room) or descriptors.owner not in (None, parent):
            return None
        taking = place.line.action in ("Take", "Remove")
        in_hand, in_room = (40, 60) if taking else (60, 40)
        points = {INVENTORY: in_hand, view.room: in_room, "": 0}.get(parent, 20)
        points += 0 if candidate == PLAYER else 105
        return points + 1000 * self._likely(place, candidate, match)

    def _likely(self, place: NounPosition, candidate: str, match: NounMatch) -> int:
        """Score a candidate together with the possible meanings of the other noun."""
        if not self._searched:
            self._searched = True
            self._second_nouns = self._nouns_after(place, match)
        command = " ".join(self._words.typed)
        if place.before:
            return likelihood(self._view, place.line, place.before[0], candidate, command)
        if self._second_nouns is None:
            return likelihood(self._view, place.line, candidate, place.second, command)
        return max((likelihood(self._view, place.line, candidate, second_noun, command)
                    for second_noun in self._second_nouns), default=0)  # fmt: skip

    def _nouns_after(self, place: NounPosition, match: NounMatch) -> list[str] | None:
        """Find the possible meanings of the next noun; ``None`` if there is none."""
        following = [
            token for token in place.line.tokens[place.index + 1 :] if isinstance(token, str)
        ]
        if not following or following[0] not in NOUNS - {"direction", "switched"}:
            return None
        # Any preposition of any verb is skipped, not only that of this line: so does Inform.
        skipped = prepositions(bool(self._view.story.kitchen)) | dictionary.ALL
        position = match.start + match.length
        while position < len(self._words) and self._words[position] in skipped:
            position += 1
        if position >= len(self._words) or self._words[position] in dictionary.THEN:
            return None
        while position < len(self._words) and self._words[position] in _ARTICLES:
            position += 1
        scope = in_scope(self._view, held_first=True)
        return find(self._view, self._words, position, scope, self._antecedent).candidates

    def _included(self, line: GrammarLine, candidate: str) -> bool:
        """Tell whether ``all`` may include a thing, as far as rules of the game forbid."""
        if line.action in _TAKING:
            entity = self._view.story.entities.get(candidate)
            return entity is not None and not entity.kinds & FIXED
        return not (line.action in _GIVING_UP and candidate == PLAYER)

    def _several(
        self, place: NounPosition, descriptors: Descriptors, scored: list[tuple[str, int]]
    ) -> list[str] | ParserError:
        """Make the list for ``all`` or a number."""
        if place.token not in MULTIPLE:
            return ParserError.MULTI
        view, chosen_nouns = self._view, list[str]()
        for candidate, _ in sorted(scored, key=lambda pair: -pair[1]):
            if len(chosen_nouns) >= descriptors.count:
                break
            carried = view.carries(candidate)
            accepted = candidate != PLAYER and self._included(place.line, candidate)
            if place.token in ("multiheld", "multiexcept"):
                accepted = accepted and carried
            if place.line.action in ("Take", "Remove"):
                accepted = accepted and not carried
            if accepted:
                chosen_nouns.append(candidate)
        if len(chosen_nouns) < descriptors.count < ALL_COUNT:
            self.available = len(chosen_nouns)
            return ParserError.TOOFEW
        return chosen_nouns
