"""The constant part of a game, compiled once: names, kinds, articles, texts, the map.

A ``Story`` is made of a game's record. It is independent of the state, so all episodes of a game
share it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import Any

from agentgym.envs.textworld import sanitise
from agentgym.envs.textworld.inform.brackets import Parts, compile_text, plain_text
from agentgym.envs.textworld.inform.dictionary import key
from agentgym.envs.textworld.record import EntityInfo, QuestRecord, Record
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
_BACK = {"north": "south", "south": "north", "east": "west", "west": "east"}
_RELATIONS = frozenset(("at", "in", "on", "match"))
COOKED = ("fried", "roasted", "grilled")
CUT = ("sliced", "diced", "chopped")
_DONE_TO_FOOD = ("raw", "uncut", *COOKED, *CUT)
_SLICE = 200  # TextWorld cuts the objective into pieces of so many characters
_NOTHING: frozenset[str] = frozenset()


class Entity:
    """A room or thing.

    Args:
        info: The game's entry about it.
        kind: Type of the game, such as ``oven``.
        kinds: The type and all its supertypes.
        rank: Place in Inform's order of creation.
    """

    __slots__ = ("_info", "_text", "article", "definite", "id", "kind", "kinds", "name", "rank")

    def __init__(self, info: EntityInfo, kind: str, kinds: frozenset[str], rank: int) -> None:
        self._info = info
        self._text: Parts | None = None
        self.id = info.id
        """Id in the facts, such as ``c_0``."""
        self.kind = kind
        self.kinds = kinds
        self.rank = rank
        self.name = info.name or ""
        """Printed name."""
        self.article = info.indefinite or ""
        """Indefinite article, empty where ``a`` or ``an`` is right."""
        self.definite = info.definite or ("" if kind == "d" else "the")
        """Definite article; empty for a door, which Inform takes for a proper name."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """Names by which a command may call it."""
        return tuple(filter(None, (self.name, *(self._info.synonyms or ()))))

    @property
    def text(self) -> Parts:
        """Compiled description; most are never printed, so each is compiled on first use.

        Raises:
            DataError: It holds brackets that are not TextWorld's.
        """
        if self._text is None:
            self._text = compile_text(self._info.desc or "", room=self.kind == "r")
        return self._text


class Story:
    """The constant part of a game. Parts that few turns need are compiled on first use.

    Raises:
        DataError: A part is missing.
    """

    def __init__(self, record: Record) -> None:
        self._start = record.facts[: record.start]
        self.facts = record.beginning
        """The facts at the start."""
        order, self.homes = _creation(self._start, record.kinds, self._of("link"))
        """Door -> the room that it is in before the player has been near it."""
        self.entities = _entities(order, record)
        """Every room and thing by id."""
        if not any([f[1] == PLAYER and not self.entities.keys().isdisjoint(f[2:])
                    for f in self._of("at")]):  # fmt: skip
            raise DataError("expected a fact that says in which room the player is, got none; "
                            "generate the damaged game again")  # fmt: skip
        self.kitchen = next((f[1] for f in self._of("cooking_location")), "")
        """Room where the meal is prepared; empty in other games."""
        self.objective = _objective(record.other_keys.get("objective") or "")
        """The objective in the introduction."""
        self.max_score = _max_score(record.quests)
        """The maximum score according to the story."""

    @classmethod
    def of(cls, game: Mapping[str, Any] | Record) -> Story:
        """Make the story of a game, from a record or its JSON."""
        return cls(Record.of(game))

    def _of(self, predicate: str) -> Sequence[Fact]:
        """Return the facts of a predicate at the start, in order."""
        return [fact for fact in self._start if fact[0] == predicate]

    @cached_property
    def _between(self) -> dict[tuple[str, str], str]:
        """Room and room -> the door between them."""
        return {(f[1], f[3]): f[2] for f in self._of("link")}

    @cached_property
    def exits(self) -> dict[str, dict[str, tuple[str, str]]]:
        """Room -> direction -> (room, door or empty)."""
        exits: dict[str, dict[str, tuple[str, str]]] = {}
        for fact in self._start:
            direction = fact[0].removesuffix("_of")
            if direction in _BACK and fact[0].endswith("_of"):
                neighbour, room = fact[1], fact[2]
                door = self._between.get((room, neighbour), "")
                exits.setdefault(room, {})[direction] = (neighbour, door)
                exits.setdefault(neighbour, {}).setdefault(_BACK[direction], (room, door))
        return exits

    @cached_property
    def doors(self) -> dict[str, tuple[str, ...]]:
        """Room -> its doors in the order of their creation."""
        doors: dict[str, list[str]] = {}
        for (room, _), door in sorted(self._between.items()):
            doors.setdefault(room, []).append(door)
        return {room: tuple(sorted(room_doors, key=lambda door: self.entities[door].rank))
                for room, room_doors in doors.items()}  # fmt: skip

    @cached_property
    def keys(self) -> dict[str, str]:
        """Container or door -> the key that fits."""
        return {f[2]: f[1] for f in self._of("match")}

    @cached_property
    def meal(self) -> str:
        """The meal; empty in games without a kitchen."""
        return next((f[1] for f in self._of("out")), "")

    @cached_property
    def slots(self) -> int:
        """How many things can be carried; 0 for any number."""
        return sum([entity.kind == "slot" for entity in self.entities.values()])

    @cached_property
    def recipe(self) -> tuple[tuple[str, str, str], ...]:
        """The ingredients of the meal, in the order of creation: food, cooking, cutting."""
        bases = {f[2]: f[1] for f in self._of("base")}
        states = {(f[1], f[0]) for f in self._start if len(f) == 2}
        ingredients = [fact[1] for fact in self._of("in") if fact[1] in bases]
        recipe = []
        for ingredient in sorted(ingredients, key=lambda name: self.entities[name].rank):
            cooking = next((s for s in COOKED if (ingredient, s) in states), "raw")
            cutting = next((s for s in CUT if (ingredient, s) in states), "uncut")
            recipe.append((bases[ingredient], cooking, cutting))
        return tuple(recipe)

    @cached_property
    def vocabulary(self) -> StoryVocabulary:
        """How a command may call the things."""
        return StoryVocabulary(self.entities, cooking=bool(self.kitchen))

    def check(self) -> None:
        """Compile everything, so that errors are reported at once.

        Raises:
            DataError: A text holds brackets that are not TextWorld's.
        """
        _ = [entity.text for entity in self.entities.values()]
        _ = self.exits, self.doors, self.keys, self.recipe

    def is_a(self, name: str, kind: str) -> bool:
        """Tell whether an entity is of a kind, such as ``c`` for containers."""
        entity = self.entities.get(name)
        return entity is not None and kind in entity.kinds


def _creation(
    facts: Sequence[Fact], kinds: Mapping[str, str], links: Sequence[Fact]
) -> tuple[list[str], dict[str, str]]:
    """Order entities as Inform creates them: rooms, doors, then the others type by type.

    Within a type TextWorld lists entities as it meets them in the sorted facts: those of rooms
    first, then links, then the rest. Doors are created with the first room that they lead from.
    """
    entities: dict[str, None] = {}
    homes: dict[str, str] = {}
    rooms, other_facts = [], []
    for fact in facts:
        if kinds[fact[1]] != "r":
            other_facts.append(fact)
            continue
        rooms.append(fact)
        entities[fact[1]] = None
        if fact[0].endswith("_of"):
            entities[fact[2]] = None
    for fact in links:
        entities[fact[1]] = entities[fact[3]] = None
    between = {(fact[1], fact[3]): fact[2] for fact in links}
    for room in [entity for entity in entities if kinds[entity] == "r"] if links else ():
        for fact in rooms:
            door = between.get((fact[1], fact[2])) if fact[0].endswith("_of") else None
            if door and fact[1] == room:
                entities[door] = None
                homes.setdefault(door, room)
    for fact in other_facts:
        entities[fact[1]] = None
        if fact[0] in _RELATIONS:
            entities[fact[2]] = None
    by_kind: dict[str, list[str]] = {"r": [], "d": []}
    for entity in entities:
        by_kind.setdefault(kinds[entity], []).append(entity)
    order = by_kind.pop("r") + by_kind.pop("d")
    for kind in sorted(by_kind):
        order += by_kind[kind]
    return [entity for entity in order if entity not in (PLAYER, INVENTORY)], homes


def _entities(order: Iterable[str], record: Record) -> dict[str, Entity]:
    """Make the entities in their order."""
    lineages = _lineages(record.knowledge["logic"])
    infos = {info.id: info for info in record.infos}
    entities = {}
    for rank, entity in enumerate(order):
        kind = record.kinds[entity]
        info = infos.get(entity) or EntityInfo(entity, kind)
        entities[entity] = Entity(info, kind, lineages.get(kind) or frozenset((kind,)), rank)
    return entities


@lru_cache(maxsize=8)
def _lineages(logic: str) -> dict[str, frozenset[str]]:
    """Derive the supertypes of each type, itself included, from the rules of games."""
    parents = dict(_TYPE.findall(logic))
    return {kind: frozenset(_ancestors(kind, parents)) for kind in parents}


def _ancestors(kind: str, types: Mapping[str, str]) -> list[str]:
    """Return a type and the types above it."""
    kinds = [kind]
    while (above := types.get(kinds[-1])) and above not in kinds:
        kinds.append(above)
    return kinds


def _objective(text: str) -> str:
    """Return the objective as the game prints it.

    TextWorld passes it to Inform in literals of 200 characters each.
    """
    if "'" not in text:  # nothing else looks another way in print
        return text
    lines = []
    for line in text.split("\n"):
        cut = range(0, max(len(line), 1), _SLICE)
        lines.append("".join(plain_text(line[start : start + _SLICE]) for start in cut))
    return "\n".join(lines)


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


class StoryVocabulary:
    """The names by which the things of a game can be referred to.

    A thing answers to its whole names and to each word of its printed name, in any order; food also
    to how it was prepared.
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
        nouns = self._starts.get(word, _NOTHING)
        return nouns if direction is None else nouns | {direction}

    def count(self, noun: str, words: list[str], position: int, adjectives: tuple[str, ...]) -> int:
        """Return how many words from ``position`` on name a thing; ``adjectives`` fit it, too."""
        if noun in COMPASS:
            return int(DIRECTION_WORDS.get(words[position]) == noun)
        previous, end = -1, position
        while previous != end:
            previous = end
            while end < len(words) and words[end] in adjectives:
                end += 1
            for phrase in self._phrases.get(noun, ()):
                if tuple(words[end : end + len(phrase)]) == phrase:
                    end += len(phrase)
                    break
        return end - position


@lru_cache(maxsize=4096)  # games of one theme share most names
def _in_keys(phrases: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return names, and each word of the first, as the dictionary keeps them, long ones first."""
    names = {tuple([key(word) for word in sanitise.plain(phrase).lower().split()])
             for phrase in phrases}  # fmt: skip
    single = {(key(word),) for word in sanitise.plain(phrases[0]).lower().split()
              if word not in ("the", "of")}  # fmt: skip
    return tuple(sorted((names | single) - {()}, key=lambda phrase: (-len(phrase), phrase)))
