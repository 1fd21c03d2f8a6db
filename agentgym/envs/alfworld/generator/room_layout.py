"""Furnishing a room for a task: its receptacles and their contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentgym.envs.alfworld.generator.config import GeneratorConfig, Range, as_range
from agentgym.envs.alfworld.generator.named_draws import NamedDraws
from agentgym.envs.alfworld.generator.object_tables import (
    LAMP_SUPPORTS,
    OPENABLE,
    TASK_APPLIANCES,
    supports,
)
from agentgym.envs.alfworld.generator.rooms import Receptacle, Room

MOST_COPIES = 3
"""Most objects of one type among the distractors, when their number is given."""


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """An object and where it starts."""

    kind: str
    """Type, for example ``"Mug"``."""
    home: Receptacle
    """The receptacle that it starts in."""


@dataclass(frozen=True, slots=True)
class RoomLayout:
    """A furnished room and its task."""

    room: Room
    """The floor plan."""
    receptacles: tuple[Receptacle, ...]
    """The receptacles that the room keeps, in the order of the floor plan."""
    objects: tuple[PlacedObject, ...]
    """All objects; those of the task come first."""
    task_type: str
    """The task type."""
    target: str
    """Type of the object to be taken."""
    goal: str
    """Type of the receptacle to put it in; empty when it is to be looked at."""
    lamp: str
    """Type of the lamp to look with; empty in other tasks."""
    ready: bool = False
    """Whether the object of the task is clean, hot or cool already, as the task wants it."""


def furnish(
    stream: NamedDraws, room: Room, task_type: str, config: GeneratorConfig
) -> RoomLayout | None:
    """Furnish a room so that a task can be done and is not yet done.

    None if there is no such layout, for example because nothing in the room closes and ``hidden``
    is set.
    """
    bare = _bare(stream, room, task_type, config.hidden)
    if bare is None:
        return None
    layout = replace(
        bare, receptacles=_choose_receptacles(stream, bare, as_range(config.receptacles))
    )
    distractors = _distractors(stream, layout, as_range(config.distractors))
    # No draw where there is no such share, so that games from before there was one stay.
    treated = task_type in TASK_APPLIANCES and config.ready > 0
    ready = treated and stream.below(100) < config.ready
    return replace(layout, objects=(*bare.objects, *distractors), ready=ready)


def _bare(stream: NamedDraws, room: Room, task_type: str, hidden: bool | None) -> RoomLayout | None:
    """Place only the objects that the task needs; None if the room has no such task."""
    looks = task_type == "look_at_obj_in_light"
    lamp = _lamp(stream, room) if looks else None
    appliance, fitting = TASK_APPLIANCES.get(task_type, ("", None))
    stations = [r for r in room.receptacles if r.kind == appliance]
    if (looks and lamp is None) or (appliance and not stations):
        return None
    for target in stream.shuffled(room.objects):
        if target in LAMP_SUPPORTS or (fitting is not None and target not in fitting):
            continue
        homes = [r for r in room.receptacles if r.kind != appliance and supports(target, r.kind)]
        starts = [r for r in homes if hidden is None or (r.kind in OPENABLE) == hidden]
        if lamp is not None and starts:
            target_object = PlacedObject(target, stream.choice(starts))
            needed: tuple[Receptacle, ...] = (target_object.home, lamp.home)
            return RoomLayout(room, needed, (target_object, lamp), task_type, target, "", lamp.kind)
        if lamp is None:
            count = 2 if task_type == "pick_two_obj_and_place" else 1
            placed = _placement(stream, target, homes, starts, count)
            if placed is not None:
                objects, destination = placed
                station = [stream.choice(stations)] if stations else []
                needed = (*(placed_object.home for placed_object in objects), destination, *station)
                return RoomLayout(room, needed, objects, task_type, target, destination.kind, "")
    return None


def _placement(
    stream: NamedDraws,
    target: str,
    homes: Sequence[Receptacle],
    starts: Sequence[Receptacle],
    count: int,
) -> tuple[tuple[PlacedObject, ...], Receptacle] | None:
    """Choose a destination and starts of another type; None if the target has too few homes."""
    for goal in stream.shuffled(sorted({receptacle.kind for receptacle in homes})):
        away = [receptacle for receptacle in starts if receptacle.kind != goal]
        if away:
            objects = tuple(PlacedObject(target, stream.choice(away)) for _ in range(count))
            return objects, stream.choice([r for r in homes if r.kind == goal])
    return None


def _lamp(stream: NamedDraws, room: Room) -> PlacedObject | None:
    """Place a lamp of one of the types that the room has; None if it has none."""
    for kind in stream.shuffled([kind for kind in LAMP_SUPPORTS if kind in room.objects]):
        stands = [receptacle for receptacle in room.receptacles if supports(kind, receptacle.kind)]
        if stands:
            return PlacedObject(kind, stream.choice(stands))
    return None


def _choose_receptacles(
    stream: NamedDraws, bare: RoomLayout, count: Range | None
) -> tuple[Receptacle, ...]:
    """Choose the receptacles that stay, in the order of the floor plan."""
    receptacles = bare.room.receptacles
    if count is None:
        return receptacles
    size = stream.between(*count)
    names = {receptacle.pddl_name for receptacle in bare.receptacles}
    for receptacle in stream.shuffled(receptacles):
        if len(names) >= size:
            break
        names.add(receptacle.pddl_name)
    return tuple(r for r in receptacles if r.pddl_name in names)


def _distractors(stream: NamedDraws, layout: RoomLayout, count: Range | None) -> list[PlacedObject]:
    """Place objects that the task does not need; none is of a type that it asks for."""
    homes: dict[str, list[Receptacle]] = {}
    for kind in layout.room.objects:
        fitting = [r for r in layout.receptacles if supports(kind, r.kind)]
        if fitting and kind not in (layout.target, layout.lamp):
            homes[kind] = fitting
    kinds = list(homes)
    if count is None:
        capacities = [1 if kind in LAMP_SUPPORTS else 2 for kind in kinds]
        copies = [
            kind
            for kind, n in zip(kinds, capacities, strict=True)
            for _ in range(stream.between(0, n))
        ]
    else:
        repeatable = [kind for kind in kinds if kind not in LAMP_SUPPORTS]
        rounds = [
            stream.shuffled(kinds),
            *(stream.shuffled(repeatable) for _ in range(MOST_COPIES - 1)),
        ]
        copies = [kind for turn in rounds for kind in turn][: stream.between(*count)]
    return [PlacedObject(kind, stream.choice(homes[kind])) for kind in copies]
