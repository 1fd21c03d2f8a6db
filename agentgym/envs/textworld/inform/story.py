"""What never changes in a game, compiled once: names, kinds, articles, texts, the map.

A ``Story`` is made from the game's JSON. It knows nothing of the state, so every episode of a game
shares one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from agentgym.envs.textworld import sanitise
from agentgym.envs.textworld.inform.brackets import Parts, compile_text, paragraphs, plain
from agentgym.envs.textworld.inform.dictionary import key
from agentgym.envs.textworld.record import Info, QuestRecord, Record
from agentgym.envs.textworld.session import Fact
from agentgym.errors import DataError

PLAYER, INVENTORY = "P", "I"
FIXED = frozenset(("c", "s", "d"))
"""Kinds of things that cannot be moved: containers, supporters and doors."""
COMPASS = ("north", "northeast", "northwest", "south", "southeast", "southwest", "east", "west",
           "up", "down", "inside", "outside")  # fmt: skip
"""Every direction, in the parser's order."""

_SHORT = ("n", "ne", "nw", "s", "se", "sw", "e", "w", "u", "d", "in", "out")
DIRECTION_WORDS = {key(word): direction for direction, short in zip(COMPASS, _SHORT, strict=True)
                   for word in (direction, short)}  # fmt: skip
"""Words for the directions."""


_TYPE = re.compile(r"^\s*type\s+(\w+)\s*(?::\s*(\w+))?\s*\{", re.MULTILINE)
_AFTER_IF = re.compile(r"(?<=\[end if\])")
_BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}
_PLACES = ("at", "in", "on")
COOKED = ("fried", "roasted", "grilled")
CUT = ("sliced", "diced", "chopped")
_DONE_TO_FOOD = ("raw", "uncut", *COOKED, *CUT)
_SLICE = 200  # TextWorld cuts the objective into pieces of so many characters
_NOTHING: frozenset[str] = frozenset()


@dataclass(eq=False)
class Entity:
    """A room or thing.

    Attributes:
        id: Id in the facts, such as ``c_0``.
        kind: Type of the game, such as ``oven``.
        kinds: The type and all that it descends from.
        name: Printed name.
        article: Indefinite article, empty where ``a`` or ``an`` is right.
        definite: Definite article; empty for a door, which Inform takes for a proper name.
        phrases: Names by which a command may call it.
        source: Description in Inform's notation.
        rank: Place in Inform's order of creation.
    """

    id: str
    kind: str
    kinds: frozenset[str]
    name: str
    article: str
    definite: str
    phrases: tuple[str, ...]
    source: str
    rank: int

    @cached_property
    def text(self) -> Parts:
        """Compiled description; most are never said, so each is compiled when it is asked for.

        Raises:
            DataError: It holds brackets that are not TextWorld's.
        """
        if self.kind != "r":
            return compile_text(self.source)
        pieces = _AFTER_IF.split(self.source)
        return tuple([part for piece in pieces for part in compile_text(paragraphs(piece))])


@dataclass(frozen=True)
class Story:
    """The constant part of a game.

    Attributes:
        entities: Every room and thing by id.
        exits: Room -> direction -> (room, door or empty).
        doors: Room -> its doors in the order of their creation.
        homes: Door -> the room that it is in before the player has been near it.
        keys: Container or door -> the key that fits.
        facts: The facts at the start.
        objective: What the introduction says there is to do.
        max_score: What the story calls the highest score.
        kitchen: Room where the meal is prepared; empty in other games.
        meal: The meal; empty in other games.
        slots: How many things can be carried; 0 for any number.
        recipe: What goes into the meal, in the game's order: food, cooking, cutting.
    """

    entities: dict[str, Entity]
    exits: dict[str, dict[str, tuple[str, str]]]
    doors: dict[str, tuple[str, ...]]
    homes: dict[str, str]
    keys: dict[str, str]
    facts: frozenset[tuple[str, ...]]
    objective: str
    max_score: float
    kitchen: str = ""
    meal: str = ""
    slots: int = 0
    recipe: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, game: Mapping[str, Any] | Record) -> Story:
        """Make the story of a game, from a record or its JSON.

        Raises:
            DataError: A part is missing.
        """
        record = Record.of(game)
        facts = record.facts[: record.start]
        order, homes = _creation(facts, record.kinds)
        infos = {info.id: info for info in record.infos}
        lineages = _lineages(record.knowledge["logic"])
        entities = {}
        for rank, (entity, kind) in enumerate(order.items()):
            lineage = lineages.get(kind) or frozenset((kind,))
            info = infos.get(entity) or Info(entity, kind)
            entities[entity] = _entity(entity, kind, lineage, info, rank)
        if not any([f[:2] == ("at", PLAYER) and not entities.keys().isdisjoint(f[2:])
                    for f in facts]):  # fmt: skip
            raise DataError("expected a fact that says in which room the player is, got none; "
                            "generate the damaged game again")  # fmt: skip
        exits, doors = _map(facts, entities)
        keys = {f[2]: f[1] for f in facts if f[0] == "match"}
        kitchen = next((f[1] for f in facts if f[0] == "cooking_location"), "")
        meal = next((f[1] for f in facts if f[0] == "out"), "")
        slots = sum([kind == "slot" for kind in order.values()])
        objective = _objective(record.rest.get("objective") or "")
        return cls(
            entities,
            exits,
            doors,
            homes,
            keys,
            frozenset(facts),
            objective,
            _max_score(record.quests),
            kitchen,
            meal,
            slots,
            _recipe(facts, entities),
        )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """How a command may call the things."""
        return Vocabulary(self.entities, cooking=bool(self.kitchen))

    def check(self) -> None:
        """Compile every text, so that what is wrong with one is said at once.

        Raises:
            DataError: A text holds brackets that are not TextWorld's.
        """
        for entity in self.entities.values():
            entity.text  # noqa: B018

    def is_a(self, entity: str, kind: str) -> bool:
        """Tell whether an entity is of a kind, such as ``c`` for containers."""
        found = self.entities.get(entity)
        return found is not None and kind in found.kinds


def _creation(
    facts: Sequence[Fact], kinds: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Order entities as Inform creates them: rooms, doors, then the others type by type.

    Within a type TextWorld lists entities as it meets them in the sorted facts: those of rooms
    first, then links, then the rest. Doors are created with the first room that they lead from.
    """
    met: dict[str, None] = {}
    homes: dict[str, str] = {}
    rooms = [fact for fact in facts if kinds[fact[1]] == "r"]
    for fact in rooms:
        met[fact[1]] = None
        if fact[0].endswith("_of"):
            met[fact[2]] = None
    links = [fact for fact in facts if fact[0] == "link"]
    for fact in links:
        met[fact[1]] = met[fact[3]] = None
    between = {(fact[1], fact[3]): fact[2] for fact in links}
    for room in [entity for entity in met if kinds[entity] == "r"] if links else ():
        for fact in rooms:
            door = between.get((fact[1], fact[2])) if fact[0].endswith("_of") else None
            if door and fact[1] == room:
                met[door] = None
                homes.setdefault(door, room)
    for fact in facts:
        if kinds[fact[1]] != "r":
            met[fact[1]] = None
            if fact[0] == "match" or fact[0] in _PLACES:
                met[fact[2]] = None
    first = {"r": 0, "d": 1}
    ranked = sorted(met, key=lambda entity: (first.get(kinds[entity], 2), kinds[entity]))
    order = {entity: kinds[entity] for entity in ranked if entity not in (PLAYER, INVENTORY)}
    return order, homes


@lru_cache(maxsize=8)
def _lineages(logic: str) -> dict[str, frozenset[str]]:
    """Read from the rules of games what each type descends from, itself included."""
    parents = dict(_TYPE.findall(logic))
    return {kind: frozenset(_ancestors(kind, parents)) for kind in parents}


def _ancestors(kind: str, types: Mapping[str, str]) -> list[str]:
    """Return a type and the types above it."""
    found = [kind]
    while (above := types.get(found[-1])) and above not in found:
        found.append(above)
    return found


def _entity(entity: str, kind: str, kinds: frozenset[str], info: Info, rank: int) -> Entity:
    """Read one entity."""
    name = info.name or ""
    phrases = tuple(filter(None, (name, *(info.synonyms or ()))))
    definite = info.definite or ("" if kind == "d" else "the")
    return Entity(entity, kind, kinds, name, info.indefinite or "", definite, phrases,
                  info.desc or "", rank)  # fmt: skip


def _map(
    facts: Sequence[Fact], entities: Mapping[str, Entity]
) -> tuple[dict[str, dict[str, tuple[str, str]]], dict[str, tuple[str, ...]]]:
    """Read exits and doors from the facts."""
    between = {(f[1], f[3]): f[2] for f in facts if f[0] == "link"}
    exits: dict[str, dict[str, tuple[str, str]]] = {}
    for fact in facts:
        direction = fact[0].removesuffix("_of")
        if direction in _BACK and fact[0].endswith("_of"):
            there, here = fact[1], fact[2]
            door = between.get((here, there), "")
            exits.setdefault(here, {})[direction] = (there, door)
            exits.setdefault(there, {}).setdefault(_BACK[direction], (here, door))
    doors: dict[str, tuple[str, ...]] = {}
    for (room, _), door in sorted(between.items()):
        doors[room] = (*doors.get(room, ()), door)
    ordered = {room: tuple(sorted(found, key=lambda d: entities[d].rank))
               for room, found in doors.items()}  # fmt: skip
    return exits, ordered


def _recipe(
    facts: Sequence[Fact], entities: Mapping[str, Entity]
) -> tuple[tuple[str, str, str], ...]:
    """Read the recipe; its ingredients stand in the order in which Inform creates them."""
    bases = {f[2]: f[1] for f in facts if f[0] == "base"}
    states = {(f[1], f[0]) for f in facts if len(f) == 2}
    wanted = [fact[1] for fact in facts if fact[0] == "in" and fact[1] in bases]
    found = []
    for ingredient in sorted(wanted, key=lambda name: entities[name].rank):
        cooking = next((s for s in COOKED if (ingredient, s) in states), "raw")
        cutting = next((s for s in CUT if (ingredient, s) in states), "uncut")
        found.append((bases[ingredient], cooking, cutting))
    return tuple(found)


def _objective(text: str) -> str:
    """Return the objective as the game prints it.

    TextWorld hands it to Inform in pieces of 200 characters, each a literal of its own.
    """
    said = []
    for line in text.split("\n"):
        cut = range(0, max(len(line), 1), _SLICE)
        said.append("".join(plain(line[at : at + _SLICE]) for at in cut))
    return "\n".join(said)


def _max_score(quests: Iterable[QuestRecord]) -> float:
    """Add up the rewards as TextWorld's Inform source does.

    TextWorld's tracker differs where a repeatable quest pays nothing or takes points away: there
    it counts on, while the story already has no highest score.
    """
    total: float = 0
    for quest in quests:
        if not quest.optional or quest.reward > 0:
            total += quest.reward
            if quest.repeatable:
                total = math.inf
    return total


class Vocabulary:
    """How the things of a game may be called.

    A thing answers to its whole names and to each word of its printed name, in any order; food also
    to what was done to it.
    """

    def __init__(self, entities: Mapping[str, Entity], *, cooking: bool) -> None:
        self._phrases: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._starts: dict[str, set[str]] = {}
        for entity in entities.values():
            if "r" in entity.kinds or not entity.name:
                continue
            phrases = self._phrases[entity.id] = _in_keys(entity.phrases)
            starts = [phrase[0] for phrase in phrases]
            if cooking and "f" in entity.kinds:
                starts += map(key, _DONE_TO_FOOD)
            for word in starts:
                self._starts.setdefault(word, set()).add(entity.id)

    def called(self, word: str) -> AbstractSet[str]:
        """Return the things whose names may begin with a word."""
        direction = DIRECTION_WORDS.get(word)
        things = self._starts.get(word, _NOTHING)
        return things if direction is None else things | {direction}

    def count(self, thing: str, words: list[str], at: int, adjectives: tuple[str, ...]) -> int:
        """Return how many words from ``at`` on name a thing; ``adjectives`` fit it now, too."""
        if thing in COMPASS:
            return int(DIRECTION_WORDS.get(words[at]) == thing)
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


@lru_cache(maxsize=4096)  # games of one theme share most names
def _in_keys(phrases: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return names, and each word of the first, as the dictionary keeps them, long ones first."""
    names = {tuple([key(word) for word in sanitise.plain(phrase).lower().split()])
             for phrase in phrases}  # fmt: skip
    single = {(key(word),) for word in sanitise.plain(phrases[0]).lower().split()
              if word not in ("the", "of")}  # fmt: skip
    return tuple(sorted((names | single) - {()}, key=lambda phrase: (-len(phrase), phrase)))
