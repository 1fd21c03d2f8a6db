"""Which things a few words of a command may mean.

Everything that the player can refer to is matched against the words, and the longest match counts,
as in Inform's parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agentgym.envs.textworld.engine.sanitise import plain
from agentgym.envs.textworld.inform.story import COOKED, CUT, INVENTORY, PLAYER, Book
from agentgym.envs.textworld.inform.words import ME, key
from agentgym.envs.textworld.inform.world_view import Scene

COMPASS = ("north", "northeast", "northwest", "south", "southeast", "southwest", "east", "west",
           "up", "down", "inside", "outside")  # fmt: skip
"""Every direction, in the parser's order."""

_SHORT = ("n", "ne", "nw", "s", "se", "sw", "e", "w", "u", "d", "in", "out")
DIRECTION_WORDS = {key(word): direction for direction, short in zip(COMPASS, _SHORT, strict=True)
                   for word in (direction, short)}  # fmt: skip
"""Words for the directions."""

_DONE_TO_FOOD = ("raw", "uncut", *COOKED, *CUT)


@dataclass
class Match:
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


class Vocabulary:
    """How the things of a game may be called, compiled once.

    A thing answers to its whole names and to each word of its printed name, in any order; food also
    to what was done to it.

    Args:
        book: The game.
    """

    def __init__(self, book: Book) -> None:
        self._phrases: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._starts: dict[str, set[str]] = {}
        for entity in book.entities.values():
            if "r" in entity.kinds or not entity.name:
                continue
            names = {tuple(key(word) for word in plain(phrase).lower().split())
                     for phrase in entity.phrases}  # fmt: skip
            single = {(key(word),) for word in plain(entity.name).lower().split()
                      if word not in ("the", "of")}  # fmt: skip
            phrases = sorted((names | single) - {()}, key=lambda phrase: (-len(phrase), phrase))
            self._phrases[entity.id] = tuple(phrases)
            starts = [phrase[0] for phrase in phrases]
            if book.kitchen and "f" in entity.kinds:
                starts += map(key, _DONE_TO_FOOD)
            for word in starts:
                self._starts.setdefault(word, set()).add(entity.id)
        for word, direction in DIRECTION_WORDS.items():
            self._starts.setdefault(word, set()).add(direction)

    def called(self, word: str) -> set[str]:
        """Return the things whose names may begin with a word."""
        return self._starts.get(word, _NOTHING)

    def count(self, scene: Scene, thing: str, words: list[str], at: int) -> int:
        """Return how many words from ``at`` on name a thing.

        Args:
            scene: The state.
            thing: The thing, or a direction.
            words: The command.
            at: Index of a word.
        """
        if thing in COMPASS:
            return int(DIRECTION_WORDS.get(words[at]) == thing)
        adjectives: tuple[str, ...] = ()
        if scene.book.kitchen and "f" in scene.book.entities[thing].kinds:
            adjectives = tuple(map(key, scene.done_to(thing)))
        here, end = -1, at
        while here != end:
            here = end
            while end < len(words) and words[end] in adjectives:
                end += 1
            for phrase in self._phrases.get(thing, ()):
                if tuple(words[end : end + len(phrase)]) == phrase:
                    end += len(phrase)
                    break
        return end - at


_NOTHING: set[str] = set()


def in_scope(scene: Scene, *, held_first: bool = False) -> Iterator[str]:
    """Yield what the player may refer to, in the order in which the parser looks.

    Args:
        scene: The state.
        held_first: Whether what is carried comes before what is in the room.
    """
    if held_first:
        yield from scene.contents(INVENTORY)
    yield from visible_in(scene, scene.room)
    if not held_first:
        yield from scene.contents(INVENTORY)


def visible_in(scene: Scene, holder: str) -> Iterator[str]:
    """Yield what can be seen in or on something, each thing followed by what it shows."""
    for thing in scene.contents(holder):
        yield thing
        if thing in scene.children and scene.shows(thing):
            yield from visible_in(scene, thing)


def find(
    scene: Scene, vocabulary: Vocabulary, words: list[str], at: int, things: Iterable[str],
    it: str, *, loose: bool = False,
) -> Match:  # fmt: skip
    """Match words against things.

    Args:
        scene: The state.
        vocabulary: Names of the game.
        words: The command.
        at: Index of the first word of the noun; at the end everything matches.
        things: What may be meant, in order.
        it: What the word ``it`` stands for.
        loose: Whether a thing that no word names is a candidate too, the worst.

    Returns:
        The best candidates.
    """
    match = Match(at)
    if at >= len(words):
        match.things = list(dict.fromkeys(things))
        return match
    word = words[at]
    known = vocabulary.called(word)
    for thing in things:
        if (word in ME and thing == PLAYER) or (word == "it" and thing == it):
            match.add(thing, 1)
        if thing in known:
            match.add(thing, vocabulary.count(scene, thing, words, at))
        elif loose:
            match.add(thing, 0)
    return match
