"""The expert that makes sure before it acts: a good demonstrator that wastes turns.

It looks for things as :mod:`agentgym.envs.alfworld.experts.searcher` does, in 60 of 100 tasks with
the habit of :mod:`agentgym.envs.hesitation`.
"""

from __future__ import annotations

from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts.searcher import SearchingExpert
from agentgym.envs.hesitation import hesitates, with_checks


class HesitantExpert(SearchingExpert):
    """Plans of the searching expert, in some tasks with a look at the inventory at every step."""

    def _find(self, session: HouseholdSession) -> tuple[str, ...] | None:
        plan = super()._find(session)
        if plan is None or not hesitates(session.household.game.id):
            return plan
        return with_checks(plan)
