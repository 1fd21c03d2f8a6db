"""The 120 floor plans of ALFRED: their receptacles, poses and object types.

``rooms.json`` holds one line per room: receptacles that the agent has a saved pose for, as
``[id, x, z, rotation / 90 degrees, horizon in degrees]`` with x and z in quarter metres; types of
receptacles that are in the room without a saved pose; and types of objects found there. The facts
are those of ``alfworld/gen/layouts`` in ALFWorld 0.4.2 (MIT licence, copyright Mohit Shridhar and
others); a test compares them with the installed package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from agentgym.envs.alfworld.generator.named_draws import NamedDraws
from agentgym.envs.alfworld.generator.object_tables import ROOM_KINDS

HELD_OUT = (9, 10, 29, 215, 219, 226, 308, 315, 325, 404, 424, 425)
"""Rooms of ``valid_unseen``, three of each kind. They are the rooms that ALFRED itself keeps for
its unseen splits, so that training on generated games never shows a room of the official
``valid_unseen``."""

SPLIT_ROOMS = {"train": False, "valid_seen": False, "valid_unseen": True}
"""The splits of generated games, and whether their rooms are the held-out ones."""

_COPIES = {"StoveBurner": 4}
_BASINS = {"Sink": "SinkBasin", "Bathtub": "BathtubBasin"}


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A piece of furniture that objects lie in or on."""

    kind: str
    """Type, for example ``"CounterTop"``."""
    pddl_name: str
    """Its name in PDDL."""
    location: str
    """PDDL name of the location from which it is reached; several may share one."""


@dataclass(frozen=True, slots=True)
class Room:
    """One floor plan."""

    number: int
    """ALFRED's number of it."""
    receptacles: tuple[Receptacle, ...]
    """Everything that can hold an object."""
    objects: tuple[str, ...]
    """Types of objects that occur here, sorted."""

    @property
    def name(self) -> str:
        """ALFRED's name of the room, for example ``"FloorPlan305"``."""
        return f"FloorPlan{self.number}"

    @property
    def kind(self) -> str:
        """One of :data:`~agentgym.envs.alfworld.generator.object_tables.ROOM_KINDS`."""
        return kind_of(self.number)


def kind_of(number: int) -> str:
    """Return the kind of the room with this number."""
    return ROOM_KINDS[max(0, number // 100 - 1)]


def pddl_name(name: str) -> str:
    """Return an ALFRED id, such as ``Bed|+00.96|+00.00|-00.72``, as a PDDL name."""
    for character, word in (("|", "_bar_"), ("-", "_minus_"), ("+", "_plus_"), (".", "_dot_")):
        name = name.replace(character, word)
    return name


def location_name(x: int, z: int, rotation: int, horizon: int) -> str:
    """Return a location as a PDDL name; x and z in quarter metres, rotation in quarter turns."""
    return pddl_name(f"loc|{x}|{z}|{rotation}|{horizon}")


@cache
def _table() -> dict[str, Any]:
    text = files(__package__).joinpath("rooms.json").read_text("ascii")
    table: dict[str, Any] = json.loads(text)
    return table


def room_numbers(split: str) -> tuple[int, ...]:
    """Return the numbers of the rooms of a split, in ascending order."""
    held_out = SPLIT_ROOMS[split]
    return tuple(n for n in map(int, _table()) if (n in HELD_OUT) == held_out)


@cache
def room(number: int) -> Room:
    """Return one room; it is made once."""
    posed, unposed, objects = _table()[str(number)]
    receptacles = [
        Receptacle(_kind(name), pddl_name(name), location_name(*pose)) for name, *pose in posed
    ]
    occupied = {receptacle.location for receptacle in receptacles}
    stream = NamedDraws(f"agentgym alfworld room {number}")
    for kind in unposed:
        for _ in range(_COPIES.get(kind, 1)):
            receptacles.append(_free_standing(stream, kind, occupied))
    return Room(number, tuple(receptacles), tuple(objects))


def _kind(name: str) -> str:
    """Return the type of a receptacle by its id; a basin's id starts with that of its parent."""
    head = name.split("|", 1)[0]
    return _BASINS.get(head, head)


def _free_standing(stream: NamedDraws, kind: str, occupied: set[str]) -> Receptacle:
    """Give a receptacle without a saved pose a location that no other has."""
    while True:
        x, z = stream.between(-12, 12), stream.between(-12, 12)
        location = location_name(x, z, stream.below(4), 30)
        if location not in occupied:
            break
    occupied.add(location)
    head = next((head for head, basin in _BASINS.items() if basin == kind), kind)
    tail = f"|{kind}" if head != kind else ""
    position = f"{x / 4:+06.2f}|{stream.between(0, 99) / 100:+06.2f}|{z / 4:+06.2f}"
    return Receptacle(kind, pddl_name(f"{head}|{position}{tail}"), location)
