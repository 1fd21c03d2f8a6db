"""The expert that makes sure before it acts: a good demonstrator that wastes turns.

It looks for things as :mod:`agentgym.envs.alfworld.experts.searching` does. In some tasks it asks
before each of its actions what it carries, which takes twice the turns, and is often too late; which
tasks these are does not depend on what they are like, so that nobody can tell in advance. What
imitates it learns both ways, and which of them is worth more only the reward tells.
"""

from __future__ import annotations

from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.experts.searching import SearchingExpert
from agentgym.stream import Stream

HESITATES = 60
"""Per cent of the tasks in which it makes sure."""
CHECK = "inventory"


class HesitantExpert(SearchingExpert):
    """Plans of the searching expert, in some tasks with a look at the inventory at every step."""

    def _find(self, session: Session) -> tuple[str, ...] | None:
        plan = super()._find(session)
        hesitates = Stream("hesitant", session.household.game.id).percent(HESITATES)
        if plan is None or not hesitates:
            return plan
        return tuple(each for command in plan for each in (CHECK, command))
