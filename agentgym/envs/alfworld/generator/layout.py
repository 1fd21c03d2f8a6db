"""Furnishing a room for a task: which receptacles are there and what lies in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentgym.envs.alfworld.generator.config import Knobs, Span, ends
from agentgym.envs.alfworld.generator.draw import Draw
from agentgym.envs.alfworld.generator.rooms import Receptacle, Room
from agentgym.envs.alfworld.generator.tables import (
    APPLIANCES,
    LAMP_SUPPORTS,
    OPENABLE,
    supports,
)

MOST_COPIES = 3
"""Most objects of one type among the distractors, when their number is given."""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object and where it starts."""

    kind: str
    """Type, for example ``"Mug"``."""
    home: Receptacle
    """The receptacle that it starts in."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A furnished room and what is to be done in it."""

    room: Room
    """The floor plan."""
    receptacles: tuple[Receptacle, ...]
    """The receptacles that the room keeps, in the order of the floor plan."""
    things: tuple[Thing, ...]
    """All objects; those of the task come first."""
    task_type: str
    """The task type."""
    target: str
    """Type of the object to be taken."""
    goal: str
    """Type of the receptacle to put it in; empty when it is to be looked at."""
    lamp: str
    """Type of the lamp to look with; empty in other tasks."""


@dataclass(frozen=True, slots=True)
class _Quest:
    """The objects of a task and the receptacles that it needs."""

    target: str
    goal: str
    lamp: str
    things: tuple[Thing, ...]
    needed: tuple[Receptacle, ...]


def furnish(draw: Draw, room: Room, task_type: str, knobs: Knobs) -> Layout | None:
    """Furnish ``room`` for a task.

    Args:
        draw: Source of all choices.
        room: The floor plan.
        task_type: The task type.
        knobs: Size and difficulty.

    Returns:
        A layout in which the task can be done and is not yet done, or None where this room has
        none, for example because nothing in it closes and ``hidden`` is asked for.
    """
    quest = _quest(draw, room, task_type, knobs.hidden)
    if quest is None:
        return None
    receptacles = _keep(draw, room, quest.needed, ends(knobs.receptacles))
    clutter = _clutter(draw, room, receptacles, quest, ends(knobs.distractors))
    return Layout(
        room,
        receptacles,
        (*quest.things, *clutter),
        task_type,
        quest.target,
        quest.goal,
        quest.lamp,
    )


def _quest(draw: Draw, room: Room, task_type: str, hidden: bool | None) -> _Quest | None:
    """Choose what is to be taken, from where and to where; None if the room has no such task."""
    looks = task_type == "look_at_obj_in_light"
    lamp = _lamp(draw, room) if looks else None
    appliance, fitting = APPLIANCES.get(task_type, ("", None))
    stations = [r for r in room.receptacles if r.kind == appliance]
    if (looks and lamp is None) or (appliance and not stations):
        return None
    for target in draw.shuffled(room.objects):
        if target in LAMP_SUPPORTS or (fitting is not None and target not in fitting):
            continue
        homes = [r for r in room.receptacles if r.kind != appliance and supports(target, r.kind)]
        starts = [r for r in homes if hidden is None or (r.kind in OPENABLE) == hidden]
        if lamp is not None and starts:
            thing = Thing(target, draw.pick(starts))
            return _Quest(target, "", lamp.kind, (thing, lamp), (thing.home, lamp.home))
        if lamp is None:
            count = 2 if task_type == "pick_two_obj_and_place" else 1
            quest = _delivery(draw, target, homes, starts, count)
            if quest is not None:
                station = [draw.pick(stations)] if stations else []
                return replace(quest, needed=(*quest.needed, *station))
    return None


def _delivery(
    draw: Draw,
    target: str,
    homes: Sequence[Receptacle],
    starts: Sequence[Receptacle],
    count: int,
) -> _Quest | None:
    """Choose a destination and starts of another type; None if the target has too few homes."""
    for goal in draw.shuffled(sorted({receptacle.kind for receptacle in homes})):
        away = [receptacle for receptacle in starts if receptacle.kind != goal]
        if away:
            things = tuple(Thing(target, draw.pick(away)) for _ in range(count))
            destination = draw.pick([receptacle for receptacle in homes if receptacle.kind == goal])
            needed = (*(thing.home for thing in things), destination)
            return _Quest(target, goal, "", things, needed)
    return None


def _lamp(draw: Draw, room: Room) -> Thing | None:
    """Place a lamp of one of the types that the room has; None if it has none."""
    for kind in draw.shuffled([kind for kind in LAMP_SUPPORTS if kind in room.objects]):
        stands = [receptacle for receptacle in room.receptacles if supports(kind, receptacle.kind)]
        if stands:
            return Thing(kind, draw.pick(stands))
    return None


def _keep(
    draw: Draw, room: Room, needed: Sequence[Receptacle], span: Span | None
) -> tuple[Receptacle, ...]:
    """Choose the receptacles that stay, in the order of the floor plan."""
    if span is None:
        return room.receptacles
    size = draw.between(*span)
    kept = {receptacle.symbol for receptacle in needed}
    for receptacle in draw.shuffled(room.receptacles):
        if len(kept) >= size:
            break
        kept.add(receptacle.symbol)
    return tuple(r for r in room.receptacles if r.symbol in kept)


def _clutter(
    draw: Draw,
    room: Room,
    receptacles: Sequence[Receptacle],
    quest: _Quest,
    span: Span | None,
) -> list[Thing]:
    """Place objects that the task does not need; none is of a type that it asks for."""
    homes: dict[str, list[Receptacle]] = {}
    for kind in room.objects:
        fitting = [r for r in receptacles if supports(kind, r.kind)]
        if fitting and kind not in (quest.target, quest.lamp):
            homes[kind] = fitting
    kinds = list(homes)
    if span is None:
        most = [1 if kind in LAMP_SUPPORTS else 2 for kind in kinds]
        copies = [
            kind for kind, n in zip(kinds, most, strict=True) for _ in range(draw.between(0, n))
        ]
    else:
        again = [kind for kind in kinds if kind not in LAMP_SUPPORTS]
        rounds = [draw.shuffled(kinds), *(draw.shuffled(again) for _ in range(MOST_COPIES - 1))]
        copies = [kind for turn in rounds for kind in turn][: draw.between(*span)]
    return [Thing(kind, draw.pick(homes[kind])) for kind in copies]
