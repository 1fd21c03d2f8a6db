"""Writing a furnished room as a PDDL problem of the ALFRED domain, and its task as a sentence.

Goals and sentences are those of ALFWorld 0.4.2 (``alfworld/gen/goal_library.py``, MIT licence),
which its engine and grammar expect; ``object_tables.json`` holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentgym.envs.alfworld.generator.named_draws import NamedDraws
from agentgym.envs.alfworld.generator.object_tables import (
    CONTENTS,
    GOALS,
    LAMP_SUPPORTS,
    OPENABLE,
    PROPERTIES,
    SENTENCES,
)
from agentgym.envs.alfworld.generator.room_layout import PlacedObject, RoomLayout
from agentgym.envs.alfworld.generator.rooms import location_name, pddl_name

STATES = {
    "pick_clean_then_place_in_recep": "isClean",
    "pick_heat_then_place_in_recep": "isHot",
    "pick_cool_then_place_in_recep": "isCool",
}
"""The required state of a task's object."""

DOMAIN_RECEPTACLES = ("Fridge", "Microwave", "SinkBasin")
"""Types that the domain's actions name, so that every problem must declare them."""

DOMAIN_OBJECTS = ("ButterKnife", "Knife")

_GRID = 600


def sentence(stream: NamedDraws, layout: RoomLayout) -> str:
    """Return the task in words, as the game says it after ``"Your task is to: "``."""
    text = stream.choice(SENTENCES[layout.task_type]).format(
        target=layout.target.lower(), goal=layout.goal.lower(), lamp=layout.lamp.lower()
    )
    return f"{text}."


def problem(stream: NamedDraws, layout: RoomLayout) -> str:
    """Return the PDDL problem of a layout; objects and the agent get positions here."""
    names = _object_names(stream, layout.objects)
    start = _start(stream, layout)
    receptacle_types = sorted({*(r.kind for r in layout.receptacles), *DOMAIN_RECEPTACLES})
    object_types = sorted({*(placed.kind for placed in layout.objects), *DOMAIN_OBJECTS})
    places = sorted({*(r.location for r in layout.receptacles), start})
    lines = [
        f"(define (problem {layout.room.name})",
        "(:domain alfred)",
        "(:objects",
        "agent1 - agent",
        *(f"{kind}Type - otype" for kind in object_types),
        *(f"{kind}Type - rtype" for kind in receptacle_types),
        *(f"{name} - object" for name in names),
        *(f"{receptacle.pddl_name} - receptacle" for receptacle in layout.receptacles),
        *(f"{name} - location" for name in places),
        ")",
        "(:init",
        *_receptacle_facts(layout),
        *_object_facts(names, layout.objects),
        *([f"({STATES[layout.task_type]} {names[0]})"] if layout.ready else ()),
        *_compatibility(receptacle_types, object_types),
        f"(atLocation agent1 {start})",
        ")",
        "(:goal (and",
        GOALS[layout.task_type].format(target=layout.target, goal=layout.goal, lamp=layout.lamp),
        "))",
        ")",
    ]
    return "\n".join(lines)


def _object_names(stream: NamedDraws, objects: Sequence[PlacedObject]) -> list[str]:
    """Give every object a position, which decides its number in the game, and so a name."""
    names: dict[str, None] = {}
    while len(names) < len(objects):
        code = stream.below(_GRID**3)
        metres = ((code // _GRID**power % _GRID - _GRID // 2) / 100 for power in range(3))
        position = "|".join(f"{value:+06.2f}" for value in metres)
        names[pddl_name(f"{objects[len(names)].kind}|{position}")] = None
    return list(names)


def _start(stream: NamedDraws, layout: RoomLayout) -> str:
    """Choose a location away from every receptacle for the agent."""
    occupied = {receptacle.location for receptacle in layout.receptacles}
    while True:
        name = location_name(stream.between(-20, 20), stream.between(-20, 20), stream.below(4), 30)
        if name not in occupied:
            return name


def _receptacle_facts(layout: RoomLayout) -> Iterator[str]:
    for receptacle in layout.receptacles:
        name = receptacle.pddl_name
        yield f"(receptacleType {name} {receptacle.kind}Type)"
        yield f"(receptacleAtLocation {name} {receptacle.location})"
        if receptacle.kind in OPENABLE:
            yield f"(openable {name})"


def _object_facts(names: Sequence[str], objects: Sequence[PlacedObject]) -> Iterator[str]:
    for name, placed in zip(names, objects, strict=True):
        yield f"(objectType {name} {placed.kind}Type)"
        yield f"(inReceptacle {name} {placed.home.pddl_name})"
        yield f"(objectAtLocation {name} {placed.home.location})"
        yield f"({'toggleable' if placed.kind in LAMP_SUPPORTS else 'pickupable'} {name})"
        for predicate, kinds in PROPERTIES.items():
            if placed.kind in kinds:
                yield f"({predicate} {name})"


def _compatibility(receptacle_types: Sequence[str], object_types: Sequence[str]) -> Iterator[str]:
    for receptacle in receptacle_types:
        contents = CONTENTS[receptacle]
        for kind in object_types:
            if kind in contents:
                yield f"(canContain {receptacle}Type {kind}Type)"
