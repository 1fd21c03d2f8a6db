"""The lazy expert: it checks the pages it opens, but usually omits one word of its query.

Whether the short query finds the right product cannot be predicted when it is typed, and it often
does. So most successful demonstrations still have short queries: filtering for success keeps the
flaw. Only the reward shows that full queries succeed more often.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.session import ShopSession, ShopState
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.base import ExpertStep, buy, choose
from agentgym.envs.webshop.experts.careful import CarefulExpert, MatchingHit
from agentgym.retrieval import tokenize
from agentgym.support.random_stream import Stream

WHOLE = 15
"""Percentage of tasks with the full query."""
LOOKED_AT = 4
"""Number of hits of a short query that it checks."""


class LazyExpert(CarefulExpert):
    """Plans of the careful expert, most of which begin with a query that lacks one word.

    Nothing in the text predicts the missing word or the choice of tasks. It takes the first
    acceptable hit; if there is none, it buys the last hit that looked right, or the first hit,
    without writing a comparison.

    Args:
        shop: The shop.
        highlights: Whether lines of results show the highlights of products.
        reward: Reward mode that defines an acceptable product.
        thinks: Whether the expert writes its comparisons.
    """

    def __init__(
        self,
        shop: Shop,
        highlights: bool = False,
        reward: str = "official",
        thinks: bool = False,
    ) -> None:
        super().__init__(shop, highlights, reward, thinks)
        self._careful = CarefulExpert(shop, highlights, reward)

    def query(self, goal: ShopGoal) -> str:
        """Return the query of the careful expert, in most tasks without one of its words.

        Words for the kind of product are never omitted: the choice of the word must not decide
        whether the search succeeds.
        """
        full_query = self._careful.query(goal)
        words, kind = full_query.split(), set(tokenize(goal.query))
        droppable = [word for word in words if not kind.intersection(tokenize(word))]
        draw = Stream("lazy", goal.asin, goal.instruction_text)
        if draw.percent(WHOLE) or not droppable or len(words) == 1:
            return full_query
        missing = draw.choice(droppable)
        return " ".join(word for word in words if word != missing)

    def thought(self, session: ShopSession) -> str:
        """Return the comparison written on the open page; empty if the product is bought anyway."""
        goal, state = session.goal, session.state
        resigned = state.asin is not None and self._settles(goal, state)
        return "" if resigned else super().thought(session)

    def _settles(self, goal: ShopGoal, state: ShopState) -> bool:
        """Return whether it buys the open product although it does not match the instruction."""
        assert state.asin is not None
        accepted = any(
            hit.asin == state.asin and hit.suits
            for hit in self._candidates(goal, state.query or "")
        )
        return accepted and not self._suits(state.asin, goal)

    def _from_page(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        assert state.asin is not None
        if self._settles(goal, state):
            return buy(state, choose(self._shop.products[state.asin], goal))
        return super()._from_page(goal, state, size)

    def _look(self, goal: ShopGoal, query: str) -> Iterator[MatchingHit]:
        """List the hits that it inspects, and, of its own short search, one that it will take."""
        hits = super()._look(goal, query)
        if query != self.query(goal) or query == self._careful.query(goal):
            yield from hits
            return
        top = [hit for hit in hits if hit.rank < LOOKED_AT]
        if not any(hit.suits for hit in top):
            first = [MatchingHit(0, asin, False) for asin in self._shop.search(query)[:1]]
            top = top or first
            top[-1:] = [hit._replace(suits=True) for hit in top[-1:]]
        yield from top
