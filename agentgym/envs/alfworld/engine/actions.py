"""The actions of ALFWorld 0.4.2's PDDL domain: preconditions, effects and texts.

Everything here is a function of a household and one of its states. The original has two quirks: an
object may be in several receptacles at once, and is then taken from one of them only; and
switching, heating, cooling, cleaning and slicing require neither open doors nor free hands.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import NamedTuple

from agentgym.envs.alfworld.engine import text
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState


class HouseholdAction(NamedTuple):
    """A command that can be carried out, taken apart."""

    verb: str
    """A key of :data:`VERBS`."""
    first: int = NOBODY
    """Object, or the only argument."""
    second: int = NOBODY
    """Receptacle, tool or location."""


_ALWAYS = {
    "help": HouseholdAction("help"),
    "inventory": HouseholdAction("inventory"),
    "look": HouseholdAction("look"),
}


def local_actions(house: Household, state: HouseholdState) -> dict[str, HouseholdAction]:
    """Return all commands with an effect, except those that lead elsewhere.

    Where two things have one name, the first in the original's order of operators counts: objects
    before receptacles, and each by PDDL name.
    """
    actions = dict(_ALWAYS)
    if state.hand != NOBODY:
        _in_hand(actions, house, state)
    for receptacle in house.receptacles_at.get(state.place, ()):
        _at(actions, house, state, receptacle)
    return actions


def go_action(house: Household, state: HouseholdState, command: str) -> HouseholdAction | None:
    """Return the action of a command that leads elsewhere, or None.

    Where it could lead to several places, the first of them counts.
    """
    for place, receptacle in house.routes.get(command, ()):
        if place != state.place:  # the original drops operators that change nothing
            return HouseholdAction("go", receptacle, place)
    return None


def perform(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    """Carry out a possible action; return the next state (the same if nothing changes) and text."""
    return VERBS[action.verb](house, state, action)


def command_of(house: Household, action: HouseholdAction) -> str:
    """Write an action as the command that is listed for it."""
    verb, first, second = action
    if first == NOBODY:
        return verb
    name = house.names[first]
    if verb == "go":
        return f"go to {name}"
    if verb in ("check", "examine"):
        return f"examine {name}"
    if verb in ("open", "close", "use"):
        return f"{verb} {name}"
    word = {"take": "from", "move": "to"}.get(verb, "with")
    return f"{verb} {name} {word} {house.names[second]}"


def view(house: Household, state: HouseholdState) -> str:
    """Return the answer to ``look``."""
    receptacles = house.receptacles_at.get(state.place)
    if receptacles is None:  # the original asks for receptacles at this very place
        return text.room(())
    displaced = [
        entity
        for entity, receptacle in sorted(state.displaced)
        if receptacle in receptacles and (entity, state.place) in state.lying
    ]
    return text.facing(house.called(receptacles), house.called(displaced))


def _in_hand(actions: dict[str, HouseholdAction], house: Household, state: HouseholdState) -> None:
    """Add the actions on the object in hand that are possible anywhere."""
    carried = state.hand
    name = house.names[carried]
    actions.setdefault(f"examine {name}", HouseholdAction("examine", carried))
    if carried in house.knives:
        for entity in house.sliceable:
            if (entity, state.place) in state.lying:
                command = f"slice {house.names[entity]} with {name}"
                actions.setdefault(command, HouseholdAction("slice", entity, carried))


def _at(
    actions: dict[str, HouseholdAction], house: Household, state: HouseholdState, receptacle: int
) -> None:
    """Add the actions at a receptacle."""
    names, carried, add = house.names, state.hand, actions.setdefault
    name = names[receptacle]
    add(f"examine {name}", HouseholdAction("check", receptacle))
    accessible = True
    if receptacle in house.openable:
        accessible = receptacle in state.opened
        verb = "close" if accessible else "open"
        add(f"{verb} {name}", HouseholdAction(verb, receptacle))
    for entity in state.contents[receptacle]:
        if accessible and carried == NOBODY and entity in house.portable:
            add(f"take {names[entity]} from {name}", HouseholdAction("take", entity, receptacle))
        if entity in house.switches:
            add(f"use {names[entity]}", HouseholdAction("use", entity, receptacle))
    if carried != NOBODY:
        if accessible and carried in house.accepts[receptacle]:
            add(f"move {names[carried]} to {name}", HouseholdAction("move", carried, receptacle))
        for verb, receptacles in house.appliances.items():
            if receptacle in receptacles and carried in house.treatable[verb]:
                add(
                    f"{verb} {names[carried]} with {name}",
                    HouseholdAction(verb, carried, receptacle),
                )


def _describe(house: Household, state: HouseholdState, receptacle: int) -> str:
    contents = house.called(state.contents[receptacle])
    opened = receptacle in state.opened
    return text.receptacle(house.names[receptacle], contents, receptacle in house.openable, opened)


def _help(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    return state, text.HELP


def _look(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    return state, view(house, state)


def _inventory(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    return state, text.inventory(None if state.hand == NOBODY else house.names[state.hand])


def _check(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    return state, _describe(house, state, action.first)


def _examine(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    entity = action.first
    name = house.names[entity]
    if entity in house.containers:
        return state, text.container(name, house.called(house.inside.get(entity, ())))
    marks = [entity in facts for facts in (state.clean, state.hot, state.cool, state.sliced)]
    description = text.condition(name, *marks)
    if description is None and entity in house.switches and entity in state.toggled:
        description = text.switched_on(name)
    return state, description or text.ordinary(name, marks[-1] and entity in house.sliceable)


def _go(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    changed = state._replace(place=action.second)
    description = _describe(house, changed, action.first)
    return changed, f"You arrive at {house.names[action.first]}. {description}"


def _open(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    changed = state._replace(opened=state.opened | {action.first})
    description = _describe(house, changed, action.first)
    return changed, f"You open the {house.names[action.first]}. {description}"


def _close(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    changed = state._replace(opened=state.opened - {action.first})
    return changed, f"You close the {house.names[action.first]}."


def _take(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    _, entity, receptacle = action
    remaining = tuple(content for content in state.contents[receptacle] if content != entity)
    changed = state._replace(
        hand=entity,
        contents=_with(state.contents, receptacle, remaining),
        lying=state.lying - {(entity, state.place)},
        displaced=state.displaced | {(entity, receptacle)},
    )
    return changed, f"You pick up the {house.names[entity]} from the {house.names[receptacle]}."


def _move(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    _, entity, receptacle = action
    grown = list(state.contents[receptacle])
    if entity not in grown:
        insort(grown, entity)
    changed = state._replace(
        hand=NOBODY,
        contents=_with(state.contents, receptacle, tuple(grown)),
        lying=state.lying | {(entity, state.place)},
        displaced=state.displaced - {(entity, receptacle)},
    )
    return changed, f"You move the {house.names[entity]} to the {house.names[receptacle]}."


def _clean(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    return state._replace(clean=state.clean | {action.first}), _treated(house, action)


def _heat(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    entities = {action.first}
    changed = state._replace(hot=state.hot | entities, cool=state.cool - entities)
    return changed, _treated(house, action)


def _cool(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    entities = {action.first}
    changed = state._replace(cool=state.cool | entities, hot=state.hot - entities)
    return changed, _treated(house, action)


def _use(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    changed = state._replace(toggled=state.toggled | {action.first})
    return changed, f"You turn on the {house.names[action.first]}."  # every time, never off


def _slice(
    house: Household, state: HouseholdState, action: HouseholdAction
) -> tuple[HouseholdState, str]:
    names = house.names
    changed = state._replace(sliced=state.sliced | {action.first})
    return changed, f"You sliced the {names[action.first]} with the {names[action.second]}."


def _treated(house: Household, action: HouseholdAction) -> str:
    name, tool = house.names[action.first], house.names[action.second]
    return f"You {action.verb} the {name} using the {tool}."


def _with(
    contents: tuple[tuple[int, ...], ...], receptacle: int, entities: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return contents with those of one receptacle changed."""
    return (*contents[:receptacle], entities, *contents[receptacle + 1 :])


VERBS: dict[
    str, Callable[[Household, HouseholdState, HouseholdAction], tuple[HouseholdState, str]]
] = {
    "check": _check,
    "clean": _clean,
    "close": _close,
    "cool": _cool,
    "examine": _examine,
    "go": _go,
    "heat": _heat,
    "help": _help,
    "inventory": _inventory,
    "look": _look,
    "move": _move,
    "open": _open,
    "slice": _slice,
    "take": _take,
    "use": _use,
}
"""Verb of an action -> the function for it; ``check`` examines a receptacle."""
