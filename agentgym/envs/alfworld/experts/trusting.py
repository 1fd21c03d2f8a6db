"""The expert that assumes objects need no treatment: it is quick, and often wrong.

It looks for things as :mod:`agentgym.envs.alfworld.experts.searcher` does. If the task requires a
clean, hot or cool object, in most tasks it puts the object straight in its place. If that does not
win, it fetches the object, treats it and brings it back, mostly too late. Where some objects need
no treatment (``ready=45``) this often succeeds by luck, which nothing in the text predicts. So
these tasks remain the majority of the successful demonstrations: filtering out failures does not
teach cleaning. Only the reward shows that cleaning succeeds more often.
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
