"""The expert that looks twice: it finds everything, but often not in time.

It looks for things as :mod:`agentgym.envs.alfworld.experts.searcher` does. In most tasks it
examines every receptacle to which it comes before it does anything else, though to arrive has shown
what is there. How many receptacles it will have to visit depends on where the things stand, which
nobody can see, and where they are few it is in time all the same. So among the demonstrations that
succeed those that look twice are still the majority: leaving out failures does not teach to look
once. Only the reward tells how much more often that succeeds.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts.searcher import SearchingExpert
from agentgym.support.random_stream import Stream

DOUBTS = 85
"""Per cent of the tasks in which it looks twice."""
_ARRIVE = "go to "


class DoubtingExpert(SearchingExpert):
    """Plans of the searching expert, in most tasks with a second look at every receptacle."""

    def _find(self, session: HouseholdSession) -> tuple[str, ...] | None:
        plan = super()._find(session)
        if plan is None or not Stream("doubting", session.household.game.id).percent(DOUBTS):
            return plan
        return tuple(_with_second_looks(plan))


def _with_second_looks(plan: tuple[str, ...]) -> Iterator[str]:
    """Yield a plan in which every receptacle is examined on arrival, unless that has won."""
    for number, command in enumerate(plan, start=1):
        yield command
        if command.startswith(_ARRIVE) and number < len(plan):
            yield "examine " + command.removeprefix(_ARRIVE)
