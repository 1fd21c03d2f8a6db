"""The expert that looks for things as a newcomer must.

It visits the receptacles in the order in which the first text lists them, opens those that are
closed, and takes the direct way as soon as it has seen everything that the task needs. The oracle
(:mod:`agentgym.envs.alfworld.experts.oracle`) knows from the start where everything is, which no
policy can learn.
"""

from __future__ import annotations

from agentgym.envs.alfworld.engine.actions import HouseholdAction
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import NOBODY, HouseholdState
from agentgym.envs.alfworld.experts.reader import Memory, ReadingExpert


class SearchingExpert(ReadingExpert):
    """The expert that has to look for things, as a policy must."""

    def _explore(
        self, memory: Memory, house: Household, state: HouseholdState
    ) -> HouseholdAction | None:
        explored, last = memory.explored, memory.last
        passed = NOBODY
        for receptacle in house.intro:
            if receptacle not in explored:
                if receptacle > last:
                    return HouseholdAction("go", receptacle, house.places[receptacle][0])
                passed = receptacle if passed == NOBODY else passed
        return None if passed == NOBODY else HouseholdAction("go", passed, house.places[passed][0])
