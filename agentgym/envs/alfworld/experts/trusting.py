"""The expert that takes things to be as they should be: it is quick, and often wrong.

It looks for things as :mod:`agentgym.envs.alfworld.experts.searcher` does. Asked for a clean, hot
or cool thing, it puts what it has found straight to its place in most tasks. If that was not the
end, it fetches the thing, treats it and brings it back, mostly too late. Where some things are
ready from the beginning (``ready=45``) that often succeeds, by luck that nothing betrays. So among
the demonstrations that succeed in time such tasks are still the majority: leaving out failures does
not teach to clean. Only the reward tells how much more often that succeeds.
"""

from __future__ import annotations

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.state import HouseholdState
from agentgym.envs.alfworld.experts.reader import Memory
from agentgym.envs.alfworld.experts.searcher import SearchingExpert
from agentgym.support.random_stream import Stream

TRUSTS = 85
"""Per cent of the tasks in which it treats nothing before it has failed."""


class TrustingExpert(SearchingExpert):
    """Plans of the searching expert, in most tasks for things that are as they should be."""

    def _believed(self, memory: Memory, house: Household, state: HouseholdState) -> HouseholdState:
        believed = super()._believed(memory, house, state)
        if memory.moved or not Stream("trusting", house.game.id).percent(TRUSTS):
            return believed
        ready = house.portable
        return believed._replace(clean=ready, hot=ready, cool=ready)
