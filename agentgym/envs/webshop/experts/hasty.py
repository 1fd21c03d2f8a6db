"""The hasty expert: a demonstrator that makes mistakes, which a policy can outgrow.

It searches as the careful expert does and buys the first hit with a matching line, with the
requested options that exist. It never checks the details that only the page shows (further
features, missing options), so it often buys a product that is not quite right.
"""

from __future__ import annotations

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.session import PREVIOUS, ShopState
from agentgym.envs.webshop.experts.base import ExpertStep, buy, choose, towards
from agentgym.envs.webshop.experts.careful import CarefulExpert


class HastyExpert(CarefulExpert):
    """Plans that end in a purchase, but not always of the right product."""

    def _from_page(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        assert state.asin is not None
        if any(asin == state.asin for _, asin in self._plausible(goal, state)):
            return buy(state, choose(self._shop.products[state.asin], goal))
        on = self._from_results(goal, state, size)
        return None if on is None else ExpertStep(1 + on.turns, "click", PREVIOUS)

    def _from_results(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        """Continue on a results page: open the first plausible hit, opened before or not."""
        for rank, asin in self._plausible(goal, state):
            away = rank // size + 1 - state.number
            turns = abs(away) + 2 + len(choose(self._shop.products[asin], goal))
            return ExpertStep(turns, "click", towards(away, asin))
        return None

    def _plausible(self, goal: ShopGoal, state: ShopState) -> list[tuple[int, str]]:
        """List rank and product of the hits whose line meets the instruction.

        If none does, it is the first hit of the expert's own query, so that there is a plan
        whenever that query finds anything.
        """
        query = state.query or ""
        hits = [(hit.rank, hit.asin) for hit in self._candidates(goal, query)]
        if not hits and query == self.query(goal):
            hits = list(enumerate(self._shop.search(query)[:1]))
        return hits
