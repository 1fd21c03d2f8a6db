"""The usual places of objects in a household, and the actions on them.

The facts are those of ALFWorld 0.4.2 and ALFRED (``alfworld/gen/constants.py``; MIT licence,
copyright Mohit Shridhar and others), rewritten as tables, the large ones in
``object_tables.json``, and compared with the installed package by a test. One table is new: there
lamps are part of the room and may be in no receptacle; :data:`LAMP_SUPPORTS` lists the places of
ours.
"""

from __future__ import annotations

import json
from pathlib import Path

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))

CONTENTS: dict[str, tuple[str, ...]] = {
    kind: tuple(objects)
    for kind, objects in sorted(
        (kind, objects) for kinds, objects in _TABLES["contents"].items() for kind in kinds.split()
    )
}
"""Object types that may be put into each receptacle type; a toaster only holds sliced bread."""

LAMP_SUPPORTS: dict[str, tuple[str, ...]] = {
    "DeskLamp": ("CoffeeTable", "Desk", "DiningTable", "Dresser", "Shelf", "SideTable"),
    "FloorLamp": ("ArmChair", "CoffeeTable", "Desk", "Dresser", "SideTable", "Sofa"),
}
"""Receptacle types on or at which each lamp stands. A lamp cannot be carried, so this is no rule of
the game; but the goal "look at X under the lamp" asks that the lamp is in a receptacle."""

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
"""Receptacle types that start closed."""

PROPERTIES: dict[str, frozenset[str]] = {
    predicate: frozenset(objects) for predicate, objects in _TABLES["properties"].items()
}
"""Object types that have each property, by the property's name in PDDL."""

SENTENCES: dict[str, tuple[str, str]] = {
    task_type: (first, second) for task_type, (first, second) in _TABLES["sentences"].items()
}
"""The goal of each type of task in two wordings."""

GOALS: dict[str, str] = {
    task_type: "\n".join(lines) for task_type, lines in _TABLES["goals"].items()
}
"""The goal of each type of task in PDDL."""

ROOM_KINDS = ("Kitchen", "LivingRoom", "Bedroom", "Bathroom")
"""Kinds of rooms, in the order of their numbers: 1-30, 201-230, 301-330, 401-430."""

_ALL = frozenset(ROOM_KINDS)
TASK_ROOMS: dict[str, frozenset[str]] = {
    "pick_and_place_simple": _ALL,
    "look_at_obj_in_light": frozenset({"LivingRoom", "Bedroom"}),
    "pick_clean_then_place_in_recep": frozenset({"Kitchen", "Bathroom"}),
    "pick_heat_then_place_in_recep": frozenset({"Kitchen"}),
    "pick_cool_then_place_in_recep": frozenset({"Kitchen"}),
    "pick_two_obj_and_place": _ALL,
}
"""Kinds of rooms in which each task type is set."""

TASK_APPLIANCES: dict[str, tuple[str, frozenset[str]]] = {
    "pick_clean_then_place_in_recep": ("SinkBasin", PROPERTIES["cleanable"]),
    "pick_heat_then_place_in_recep": ("Microwave", PROPERTIES["heatable"]),
    "pick_cool_then_place_in_recep": ("Fridge", PROPERTIES["coolable"]),
}
"""Receptacle type and object types of the tasks that change an object."""


def supports(object_kind: str, receptacle_kind: str) -> bool:
    """Return whether an object of this type may start in a receptacle of this type."""
    if object_kind in LAMP_SUPPORTS:
        return receptacle_kind in LAMP_SUPPORTS[object_kind]
    return object_kind in CONTENTS[receptacle_kind]
