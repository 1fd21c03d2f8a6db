"""The expert that looks twice: it finds everything, but often not in time.

It explores as :mod:`agentgym.envs.alfworld.experts.searcher` does. In most tasks it examines every
receptacle that it reaches before it does anything else, although arriving has already shown the
content. The number of receptacles to visit depends on where the objects are, which is not visible,
and if there are few, it still finishes in time. So most successful demonstrations still look twice:
filtering for success keeps the flaw. Only the reward shows that looking once succeeds more often.
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
