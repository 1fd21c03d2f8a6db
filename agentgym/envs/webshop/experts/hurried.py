"""The hurried expert: a good demonstrator that is in a hurry more often than not.

In some tasks it does what the careful expert does, in the others what the hasty one does; which it
is does not depend on what the task is like, so that nobody can tell in advance. What imitates it
learns both ways, and which of them is worth more only the reward tells.
"""

from __future__ import annotations

from agentgym.envs.webshop.engine.goals import Goal
from agentgym.envs.webshop.engine.session import ShopSession, State
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.base import Expert, ExpertStep
from agentgym.envs.webshop.experts.careful import CarefulExpert
from agentgym.envs.webshop.experts.hasty import HastyExpert
from agentgym.support.random_stream import Stream

CAREFUL = 40
"""Per cent of the tasks in which it checks what it buys."""


class HurriedExpert(Expert):
    """Plans of the careful expert in some tasks, of the hasty one in the others.

    Args:
        shop: The shop.
        highlights: Whether results lines show the highlights of products.
        reward: Reward mode by which a product will do.
        thinks: Whether it says what it compares, where it does.
    """

    def __init__(
        self,
        shop: Shop,
        highlights: bool = False,
        reward: str = "official",
        thinks: bool = False,
    ) -> None:
        super().__init__(shop)
        self._careful = CarefulExpert(shop, highlights, reward, thinks)
        self._hasty = HastyExpert(shop, highlights, reward)

    def thought(self, session: ShopSession) -> str:
        """Say what is compared on the open page; empty where the expert says nothing."""
        return self._of(session.goal).thought(session)

    def _search(self, goal: Goal, size: int) -> ExpertStep | None:
        return self._of(goal)._search(goal, size)

    def _from_results(self, goal: Goal, state: State, size: int) -> ExpertStep | None:
        return self._of(goal)._from_results(goal, state, size)

    def _from_page(self, goal: Goal, state: State, size: int) -> ExpertStep | None:
        return self._of(goal)._from_page(goal, state, size)

    def _of(self, goal: Goal) -> Expert:
        """Return the expert that it is in a task."""
        checks = Stream("hurried", goal.asin, goal.instruction_text).percent(CAREFUL)
        return self._careful if checks else self._hasty
