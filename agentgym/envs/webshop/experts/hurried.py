"""The hurried expert: a mixture of a good and a flawed demonstrator.

In some tasks it acts as the careful expert, in the others as the hasty one. The choice is
independent of the task's content and cannot be predicted: imitation learns both habits, and only
the reward shows which is better.
"""

from __future__ import annotations

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.session import ShopSession, ShopState
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.base import Expert, ExpertStep
from agentgym.envs.webshop.experts.careful import CarefulExpert
from agentgym.envs.webshop.experts.hasty import HastyExpert
from agentgym.support.random_stream import Stream

CAREFUL = 40
"""Percentage of tasks in which it checks the product before it buys."""


class HurriedExpert(Expert):
    """Plans of the careful expert in some tasks, of the hasty one in the others.

    Args:
        shop: The shop.
        highlights: Whether lines of results show the highlights of products.
        reward: Reward mode that defines an acceptable product.
        thinks: Whether the expert writes its comparisons, if it compares.
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
        """Return the comparison written on the open page; empty if there is none."""
        return self._of(session.goal).thought(session)

    def _search(self, goal: ShopGoal, size: int) -> ExpertStep | None:
        return self._of(goal)._search(goal, size)

    def _from_results(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        return self._of(goal)._from_results(goal, state, size)

    def _from_page(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        return self._of(goal)._from_page(goal, state, size)

    def _of(self, goal: ShopGoal) -> Expert:
        """Return the expert that it is in a task."""
        checks = Stream("hurried", goal.asin, goal.instruction_text).percent(CAREFUL)
        return self._careful if checks else self._hasty
