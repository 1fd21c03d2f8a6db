"""A game as text, and the household that it is parsed into once and played in by many sessions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agentgym.envs.alfworld.engine.goals import Entities, GoalFormula, compile_goal
from agentgym.envs.alfworld.engine.pddl import malformed, parse_problem
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState

TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
"""The six task types of ALFWorld, by their names in ALFRED."""

KNIVES = ("knifetype", "butterknifetype")
APPLIANCES = {"clean": "sinkbasintype", "heat": "microwavetype", "cool": "fridgetype"}
"""Verb -> type of the receptacle that it needs."""
ABILITIES = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
"""Verb -> predicate of the objects that it works on."""
_PLAIN = {"_bar_": "|", "_minus_": "-", "_plus_": "+", "_dot_": ".", "_comma_": ","}


@dataclass(frozen=True, slots=True)
class Game:
    """One ALFWorld game, generated or read from a file.

    The PDDL domain and the text grammar are the same for every game, so a game is its problem and
    its sentence.
    """

    id: str
    """Stable name, unique in its task set."""
    task_type: str
    """One of :data:`TASK_TYPES`."""
    scene: str
    """Floor plan of the room, for example ``"FloorPlan305"``."""
    goal: str
    """The instruction, exactly as the game prints it after ``"Your task is to: "``."""
    problem: str
    """Text of the PDDL problem."""


def digest(text: str) -> str:
    """Return the SHA-256 (hex) of a text, such as a PDDL problem."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Household:
    """Everything about a game that no command can change; sessions and threads share it."""

    game: Game
    """Where it came from."""
    entities: tuple[str, ...]
    """PDDL names, in the numbering of :mod:`agentgym.envs.alfworld.engine.state`."""
    names: tuple[str, ...]
    """Their names for the player."""
    places: tuple[tuple[int, ...], ...]
    """Locations of each receptacle; in ALFRED one."""
    receptacles_at: Mapping[int, tuple[int, ...]]
    """Receptacles of each location that has some."""
    intro: tuple[int, ...]
    """Receptacles in the order of the first text, once for each of their locations."""
    openable: frozenset[int]
    """Receptacles with a door."""
    accepts: tuple[frozenset[int], ...]
    """Objects that may be put into each receptacle, by their types."""
    appliances: Mapping[str, frozenset[int]]
    """``clean``, ``heat``, ``cool`` -> the receptacles to do it with."""
    treatable: Mapping[str, frozenset[int]]
    """``clean``, ``heat``, ``cool`` -> the objects that it can be done to."""
    portable: frozenset[int]
    """Objects that can be picked up."""
    switches: frozenset[int]
    """Objects that can be switched."""
    knives: frozenset[int]
    """Objects to slice with."""
    sliceable: tuple[int, ...]
    """Objects that can be sliced, in order."""
    containers: frozenset[int]
    """Objects that hold others (plates, boxes); no command puts anything into them."""
    inside: Mapping[int, tuple[int, ...]]
    """The objects in these at the start, in order."""
    start: HouseholdState
    """How it begins."""
    goal: GoalFormula
    """When it is won."""
    routes: Mapping[str, tuple[tuple[int, int], ...]]
    """``go to X`` -> (location, receptacle) pairs that it may mean, the first possible one does."""
    longest: int
    """No command is longer than this many characters."""
    _go_commands: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, game: Game) -> Household:
        """Parse and compile a game.

        Raises:
            DataError: The game's problem is malformed or leaves the domain.
        """
        problem = parse_problem(game.problem)
        return _Builder(game, problem.types, problem.facts).household(problem.goal)

    def go_commands(self, place: int) -> tuple[str, ...]:
        """Return the sorted ``go to`` commands at a location."""
        commands = self._go_commands.get(place)
        if commands is None:  # threads may both compute it: to the same value
            commands = tuple(
                command
                for command, ends in self.routes.items()
                if any(end != place for end, _ in ends)
            )
            self._go_commands[place] = commands
        return commands

    def called(self, numbers: Iterable[int]) -> list[str]:
        """Return the names of some entities."""
        names = self.names
        return [names[number] for number in numbers]

    def __deepcopy__(self, memo: dict[int, Any]) -> Household:
        """Share the household between copies: it never changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the game, which is smaller."""
        return Household.of, (self.game,)


shared_household = lru_cache(maxsize=256)(Household.of)
"""Parse a game, unless this process has done so lately."""


class _Builder:
    """Turn the parts of a problem into a household."""

    def __init__(
        self, game: Game, types: Mapping[str, str], facts: Mapping[str, Sequence[tuple[str, ...]]]
    ) -> None:
        kinds: dict[str, list[str]] = {"receptacle": [], "object": [], "location": [], "": []}
        for name, kind in types.items():
            kinds[kind if kind in kinds else ""].append(name)
        self.game, self.types, self.facts = game, types, facts
        self.entities = tuple(name for group in kinds.values() for name in sorted(group))
        self.number = {name: number for number, name in enumerate(self.entities)}
        self.receptacles = len(kinds["receptacle"])
        mentioned = {word for rows in facts.values() for row in rows for word in row}
        unknown = mentioned - types.keys()
        if unknown:
            raise malformed("facts about declared objects only", f"{min(unknown)!r}, undeclared")
        self.names = player_names(mentioned)

    def household(self, formula: Any) -> Household:
        """Put it together."""
        places = self._grouped("receptacleatlocation", 0, 1, self.receptacles)
        receptacles_at: dict[int, list[int]] = {}
        for receptacle, locations in enumerate(places):
            for location in locations:
                receptacles_at.setdefault(location, []).append(receptacle)
        abilities = {verb: self._set(ability) for verb, ability in ABILITIES.items()}
        of_type = self._by_type("receptacletype")
        knives = [self._by_type("objecttype").get(kind, []) for kind in KNIVES]
        names = tuple(self.names.get(name, name) for name in self.entities)
        inner = self._pairs("inreceptacleobject")
        return Household(
            game=self.game,
            entities=self.entities,
            names=names,
            places=places,
            receptacles_at={
                location: tuple(receptacles) for location, receptacles in receptacles_at.items()
            },
            intro=tuple(r for r, locations in enumerate(places) for _ in locations),
            openable=self._set("openable"),
            accepts=self._accepts(),
            appliances={v: frozenset(of_type.get(t, ())) for v, t in APPLIANCES.items()},
            treatable=abilities,
            portable=self._set("pickupable"),
            switches=self._set("toggleable"),
            knives=frozenset(knife for group in knives for knife in group),
            sliceable=tuple(sorted(self._set("sliceable"))),
            containers=self._set("isreceptacleobject"),
            inside={o: tuple(sorted(x for x, y in inner if y == o)) for _, o in inner},
            start=self._start(),
            goal=compile_goal(formula, Entities(self.number, self.types, self.facts)),
            routes=_routes(names, places),
            longest=2 * max(map(len, names)) + 16,
        )

    def _rows(self, predicate: str, width: int) -> Sequence[tuple[str, ...]]:
        """Return the facts of a predicate, checked for their number of arguments."""
        rows = self.facts.get(predicate, ())
        if any(len(row) != width for row in rows):
            raise malformed(f"{width} argument(s) after {predicate}", "another number")
        return rows

    def _set(self, predicate: str) -> frozenset[int]:
        number = self.number
        return frozenset([number[name] for (name,) in self._rows(predicate, 1)])

    def _pairs(self, predicate: str) -> list[tuple[int, int]]:
        number = self.number
        return [(number[a], number[b]) for a, b in self._rows(predicate, 2)]

    def _by_type(self, predicate: str) -> dict[str, list[int]]:
        """Return the entities of each type."""
        numbers: dict[str, list[int]] = {}
        for name, kind in self._rows(predicate, 2):
            numbers.setdefault(kind, []).append(self.number[name])
        return numbers

    def _grouped(self, predicate: str, key: int, value: int, size: int) -> tuple[Any, ...]:
        """Group pairs by receptacle, each group sorted."""
        groups: list[set[int]] = [set() for _ in range(size)]
        for pair in self._pairs(predicate):
            if pair[key] >= size:
                name = self.entities[pair[key]]
                raise malformed(f"a receptacle in {predicate}", f"{name!r} of another type")
            groups[pair[key]].add(pair[value])
        return tuple(tuple(sorted(group)) for group in groups)

    def _accepts(self) -> tuple[frozenset[int], ...]:
        """Compute which objects fit into which receptacles by their types."""
        objects = self._by_type("objecttype")
        fitting: dict[str, set[int]] = {}
        for receptacle_type, object_type in self._rows("cancontain", 2):
            fitting.setdefault(receptacle_type, set()).update(objects.get(object_type, ()))
        frozen = {kind: frozenset(numbers) for kind, numbers in fitting.items()}
        result = [frozenset[int]()] * self.receptacles
        for name, kind in self._rows("receptacletype", 2):
            number = self.number[name]
            if number < self.receptacles and kind in frozen:
                result[number] = result[number] | frozen[kind] if result[number] else frozen[kind]
        return tuple(result)

    def _start(self) -> HouseholdState:
        """Read the changing facts."""
        agents = [name for name, kind in self.types.items() if kind == "agent"]
        places = [place for _, place in self._pairs("atlocation")]
        if len(agents) != 1 or len(places) != 1:
            raise malformed("one agent at one location", f"{len(agents)} at {len(places)}")
        carried = [entity for _, entity in self._pairs("holds")]
        if len(carried) > 1 or bool(carried) != bool(self._rows("holdsany", 1)):
            raise malformed("at most one object in hand, with holdsAny", f"{len(carried)} held")
        return HouseholdState(
            place=places[0],
            hand=carried[0] if carried else NOBODY,
            opened=self._set("opened"),
            contents=self._grouped("inreceptacle", 1, 0, self.receptacles),
            lying=frozenset(self._pairs("objectatlocation")),
            displaced=frozenset(),
            clean=self._set("isclean"),
            hot=self._set("ishot"),
            cool=self._set("iscool"),
            toggled=self._set("istoggled"),
            sliced=self._set("issliced"),
        )


def player_names(mentioned: Iterable[str]) -> dict[str, str]:
    """Name all entities of the initial facts as ALFWorld's demangler does.

    The text before the first ``_bar_`` is the kind, with ``basin`` added if the whole name contains
    it; the entities of a kind are numbered downwards in the order of their names. A name without
    ``_bar_`` gets no number, but keeps the blank before it.
    """
    ordered = sorted(mentioned)
    kinds = {name: _kind(name) for name in ordered}
    bar_counts = Counter(kind for name, kind in kinds.items() if "_bar_" in name)
    names = {}
    for name, kind in kinds.items():
        number = ""
        if "_bar_" in name:
            number = str(bar_counts[kind])
            bar_counts[kind] -= 1
        names[name] = f"{kind} {number}"
    return names


def _kind(name: str) -> str:
    kind, bar, _ = name.partition("_bar_")
    for mangled, spelling in _PLAIN.items():
        kind = kind.replace(mangled, spelling)
    return kind + "basin" if bar and "basin" in name else kind


def _routes(
    names: Sequence[str], places: Sequence[tuple[int, ...]]
) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the ``go to`` commands in sorted order, and where each may lead."""
    routes: dict[str, list[tuple[int, int]]] = {}
    for receptacle, locations in enumerate(places):
        ends = [(location, receptacle) for location in locations]
        if ends:
            routes.setdefault("go to " + names[receptacle], []).extend(ends)
    return {command: tuple(sorted(routes[command])) for command in sorted(routes)}
