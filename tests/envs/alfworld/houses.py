"""Small households of every shape that the domain allows, and their shortest plans by search."""

from __future__ import annotations

import random
from collections.abc import Sequence

from agentgym.envs.alfworld.engine.actions import HouseholdAction, local_actions, perform
from agentgym.envs.alfworld.engine.household import Game, Household
from agentgym.envs.alfworld.engine.state import HouseholdState

RECEPTACLES = ("SinkBasin", "Microwave", "Fridge", "Cabinet", "CounterTop", "Drawer")
OBJECTS = ("Apple", "Knife", "ButterKnife", "Plate", "Bowl")
ABILITIES = ("cleanable", "heatable", "coolable", "sliceable", "isReceptacleObject", "isClean",
             "isHot", "isCool", "isSliced")  # fmt: skip

PLACE = "(exists (?r - receptacle) (exists (?o - object) (and {0} (inReceptacle ?o ?r) {1})))"
TWO = """(exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 {0}Type)
    (receptacleType ?r {1}Type) (inReceptacle ?o1 ?r) {2} (exists (?o2 - object)
    (and (not (= ?o1 ?o2)) (objectType ?o2 {0}Type) (inReceptacle ?o2 ?r))))))"""
LOOK = """(exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and
    (objectType ?ot DeskLampType) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l)
    (atLocation ?a ?l) (inReceptacle ?ot ?r)))
  (exists (?o - object ?a - agent) (and (objectType ?o {0}Type) {1} (holds ?a ?o)))"""
STATES = ("(isClean ?o)", "(isHot ?o)", "(isCool ?o)", "(isSliced ?o)", "",
          "(isClean ?o) (isHot ?o)", "(isSliced ?o) (isCool ?o)")  # fmt: skip


def problem(
    receptacles: Sequence[str], objects: Sequence[str], facts: Sequence[str], goal: str
) -> str:
    """Write a PDDL problem; names are ``Type_bar_number``, locations ``loc_bar_0`` to 9."""
    kinds = [f"{name} - object" for name in objects]
    kinds += [f"{name} - receptacle" for name in receptacles]
    kinds += [f"loc_bar_{number} - location" for number in range(10)]
    kinds += [f"{name}Type - rtype" for name in RECEPTACLES]
    kinds += [f"{name}Type - otype" for name in (*OBJECTS, "DeskLamp")]
    typed = [f"(objectType {name} {name.split('_bar_')[0]}Type)" for name in objects]
    typed += [f"(receptacleType {name} {name.split('_bar_')[0]}Type)" for name in receptacles]
    return (
        "(define (problem small) (:domain alfred) (:objects agent1 - agent\n"
        + "\n".join(kinds)
        + ")\n(:init\n"
        + "\n".join([*typed, *facts, "(= (total-cost) 0)"])
        + f")\n(:goal (and {goal})))"
    )


def house(problem_text: str, goal: str = "do it.") -> Household:
    return Household.of(Game("small", "pick_and_place_simple", "FloorPlan1", goal, problem_text))


def random_house(rng: random.Random, goals: str = "all") -> Household:
    """Return a household of a handful of things, often odd, not always solvable."""
    kinds = rng.sample(RECEPTACLES, rng.randint(2, 4))
    receptacles = [f"{rng.choice(kinds)}_bar_{n}" for n in range(rng.randint(3, 5))]
    kinds = rng.sample(OBJECTS, 2)
    objects = [f"{rng.choice(kinds)}_bar_{n}" for n in range(rng.randint(2, 4))]
    lamps = ["DeskLamp_bar_9"] if rng.random() < 0.6 else []
    facts, homes = [], {}
    for name in receptacles:
        homes[name] = f"loc_bar_{rng.randint(1, 4)}"
        facts.append(f"(receptacleAtLocation {name} {homes[name]})")
        if rng.random() < 0.5:
            facts += [f"(openable {name})"] + [f"(opened {name})"] * (rng.random() < 0.3)
    for name in objects:
        facts += [f"(pickupable {name})"] * (rng.random() < 0.9)
        facts += [f"({ability} {name})" for ability in ABILITIES if rng.random() < 0.4]
    for name in objects + lamps:
        spots = rng.sample(receptacles, 1 if rng.random() < 0.8 else 2)
        facts += [f"(inReceptacle {name} {spot})" for spot in spots]
        facts.append(f"(objectAtLocation {name} {homes[spots[0]]})")
    facts += [f"(toggleable {name})" for name in lamps]
    facts += [
        f"(canContain {receptacle}Type {kind}Type)"
        for receptacle in RECEPTACLES
        for kind in OBJECTS
        if rng.random() < 0.6
    ]
    facts.append(f"(atLocation agent1 loc_bar_{rng.randint(0, 4)})")
    goal = _goal(rng, receptacles, objects, goals)
    return house(problem(receptacles, objects + lamps, facts, goal))


def _goal(
    rng: random.Random, receptacles: Sequence[str], objects: Sequence[str], goals: str
) -> str:
    receptacle = rng.choice(receptacles).split("_bar_")[0]
    object_type = rng.choice(objects).split("_bar_")[0]
    states = [state for state in STATES if goals == "all" or "Sliced" not in state]
    state = rng.choice(states)
    kind = rng.choice(("place", "two", "look"))
    if kind == "look":
        return LOOK.format(object_type, state)
    if kind == "two":
        return TWO.format(object_type, receptacle, state.replace("?o)", "?o1)"))
    types = f"(objectType ?o {object_type}Type) (receptacleType ?r {receptacle}Type)"
    return PLACE.format(state, types)


def shortest(
    household: Household, state: HouseholdState, limit: int, most: int = 60_000
) -> int | None:
    """Return the length of a shortest plan by breadth-first search over all commands that matter.

    Returns:
        The length; None if none has at most ``limit`` commands; -1 if the search grew too large.
    """
    if household.goal.satisfied(state):
        return 0
    visited, front = {state}, [state]
    for depth in range(1, limit + 1):
        following = []
        for current in front:
            for action in _moves(household, current):
                successor, _ = perform(household, current, action)
                successor = successor._replace(displaced=frozenset())  # only text depends on it
                if successor in visited:
                    continue
                if household.goal.satisfied(successor):
                    return depth
                visited.add(successor)
                following.append(successor)
        front = following
        if not front:
            return None
        if len(visited) > most:
            return -1
    return None


def _moves(household: Household, state: HouseholdState) -> list[HouseholdAction]:
    actions = [
        action
        for action in local_actions(household, state).values()
        if action.verb not in ("help", "look", "inventory", "check", "examine", "close")
    ]
    ends = {
        place: receptacle
        for receptacle, places in enumerate(household.places)
        for place in places[:1]
        if state.place not in places
    }
    return actions + [
        HouseholdAction("go", receptacle, place) for place, receptacle in ends.items()
    ]


def wander(rng: random.Random, household: Household, steps: int) -> HouseholdState:
    """Return a state that a random player reaches."""
    state = household.start
    for _ in range(steps):
        actions = _moves(household, state)
        if state.opened and rng.random() < 0.1:
            state = state._replace(opened=state.opened - {min(state.opened)})
        if not actions:
            break
        state, _ = perform(household, state, rng.choice(actions))
    return state
