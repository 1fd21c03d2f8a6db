"""The oracle: it knows the target and finishes from any state in as few actions as possible.

The plan searches for the target's title, turns pages up to it, opens it, chooses the requested
options and buys. After a deviation it takes the shorter path: from the open page, or by a new
search. Every name that it clicks is accepted by :meth:`ShopSession.click`.
"""

from __future__ import annotations

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.session import PREVIOUS, ShopState
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.base import Expert, ExpertStep, buy, choose, towards
from agentgym.support.caching import BoundedCache

CACHED_CHOICES = 8192


class OracleExpert(Expert):
    """The shortest plans, from hidden knowledge."""

    def __init__(self, shop: Shop) -> None:
        super().__init__(shop)
        self._choices: BoundedCache[tuple[str, str], tuple[tuple[str, str], ...]] = BoundedCache(
            CACHED_CHOICES
        )

    def choices(self, goal: ShopGoal) -> tuple[tuple[str, str], ...]:
        """Return the (group, value) pairs to click on the target, in shown order."""
        key = (goal.asin, goal.instruction_text)
        choices = self._choices.get(key)
        if choices is None:
            product = self._shop.products[goal.asin]
            choices = self._choices.put(key, choose(product, goal))
        return choices

    def _search(self, goal: ShopGoal, size: int) -> ExpertStep | None:
        plan = self._shop.plan(goal.asin)
        if plan is None:
            return None
        query, rank = plan
        return ExpertStep(3 + rank // size + len(self.choices(goal)), "search", query)

    def _from_page(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        if state.asin == goal.asin:
            return buy(state, self.choices(goal))
        on = self._from_results(goal, state, size)
        return None if on is None else ExpertStep(1 + on.turns, "click", PREVIOUS)

    def _from_results(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        hits = self._shop.search(state.query or "")
        if goal.asin not in hits:
            return None
        away = hits.index(goal.asin) // size + 1 - state.number
        return ExpertStep(
            abs(away) + 2 + len(self.choices(goal)), "click", towards(away, goal.asin)
        )
