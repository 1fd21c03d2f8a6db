"""The expert that walks through the room in one fixed order, whatever it wants.

It goes from each receptacle to the next one of the first text, and from the last to the first
again: to look for things, and also to where it knows what it wants to be. It solves every task, but
in more turns than who goes there directly, and not always within a horizon.
"""

from __future__ import annotations

from agentgym.envs.alfworld.engine.actions import HouseholdAction
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import HouseholdState
from agentgym.envs.alfworld.experts.reader import Memory, ReadingExpert


class FixedOrderExpert(ReadingExpert):
    """The expert that makes rounds: a demonstrator which a policy can outgrow."""

    def _explore(
        self, memory: Memory, house: Household, state: HouseholdState
    ) -> HouseholdAction | None:
        return None if memory.explored.issuperset(house.intro) else _next(memory, house, state)

    def _step(
        self, memory: Memory, house: Household, state: HouseholdState, planned: HouseholdAction
    ) -> HouseholdAction:
        stop = _next(memory, house, state) if planned.verb == "go" else None
        # At a place with several receptacles any of them will do to arrive.
        return planned if stop is None or stop.second == planned.second else stop


def _next(memory: Memory, house: Household, state: HouseholdState) -> HouseholdAction | None:
    """Go to the next receptacle of the first text that is elsewhere; None if none is."""
    order = sorted(set(house.intro), key=lambda receptacle: (receptacle <= memory.last, receptacle))
    ways = (HouseholdAction("go", receptacle, house.places[receptacle][0]) for receptacle in order)
    return next((way for way in ways if way.second != state.place), None)
