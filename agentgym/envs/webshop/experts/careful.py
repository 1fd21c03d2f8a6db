"""The careful expert: it uses only what a shopper can read, so that it can be imitated.

It searches for the words of the instruction that a title shows, opens the hits with a line that
matches the instruction, in order, and checks each on its page: if an attribute or an option is
missing, it goes back. The oracle knows which hit is right, which no policy can learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from agentgym.envs.webshop.engine import compact
from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.products import Product
from agentgym.envs.webshop.engine.session import (
    ITEM,
    PREVIOUS,
    RESULTS,
    ShopSession,
    ShopState,
)
from agentgym.envs.webshop.engine.shop import Shop, plain_query
from agentgym.envs.webshop.experts.base import Expert, ExpertStep, buy, choose, towards
from agentgym.retrieval import tokenize
from agentgym.support.caching import BoundedCache

CACHED_LISTS, CACHED_QUERIES = 8192, 8192


class MatchingHit(NamedTuple):
    """A hit with a line on the results page that matches the instruction."""

    rank: int
    """Rank among all hits, from 0."""
    asin: str
    """The product."""
    suits: bool
    """Whether its page shows that buying it earns the full reward."""


class CarefulExpert(Expert):
    """Plans without hidden knowledge.

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
        super().__init__(shop)
        self._highlights = highlights
        self._reward = reward
        self._thinks = thinks
        self._lists: BoundedCache[tuple[str, str, str], tuple[MatchingHit, ...]] = BoundedCache(
            CACHED_LISTS
        )
        self._queries: BoundedCache[tuple[str, str], str] = BoundedCache(CACHED_QUERIES)

    def thought(self, session: ShopSession) -> str:
        """Return the comparison on a newly opened item page: ``durable organic no``.

        It has the features of the page that neither search nor listing showed, the features of the
        goal, and whether the product is acceptable; in words, so that neighbouring tokens are
        compared. Empty if there is nothing to compare.
        """
        goal, state = session.goal, session.state
        if not self._thinks or state.page != ITEM or state.options or state.asin is None:
            return ""
        target = self._shop.products[goal.asin]
        listed_terms = set(self._listed_terms(target))
        features = [a for a in goal.attributes if not listed_terms.issuperset(tokenize(a))]
        highlights = compact.highlights(session.product)
        if not features or not highlights:
            return ""
        answer = "yes" if self._suits(state.asin, goal) else "no"
        return " ".join([*highlights, *features, answer])

    def query(self, goal: ShopGoal) -> str:
        """Return the instruction's words that the target's title shows, in their order.

        If these do not find the target, the oracle's query is returned.
        """
        # Every turn asks for the length of the plan that begins anew.
        key = (goal.asin, goal.instruction_text)
        query = self._queries.get(key)
        return self._queries.put(key, self._worded(goal)) if query is None else query

    def _worded(self, goal: ShopGoal) -> str:
        """Choose the words of :meth:`query`."""
        title = {term for word in goal.name.split() for term in tokenize(word)}
        words = plain_query(goal.instruction_text).split()
        title_words = [
            word for word in words if (terms := tokenize(word)) and title.issuperset(terms)
        ]
        query = " ".join(dict.fromkeys(title_words))
        if any(candidate.suits for candidate in self._candidates(goal, query)):
            return query
        plan = self._shop.plan(goal.asin)
        return query if plan is None else plan[0]

    def _from_page(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        assert state.asin is not None
        if self._suits(state.asin, goal):
            return buy(state, choose(self._shop.products[state.asin], goal))
        on = self._from_results(goal, state, size)
        return None if on is None else ExpertStep(1 + on.turns, "click", PREVIOUS)

    def _from_results(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        """Continue on a results page: open the candidates that were not opened yet, in order."""
        candidates = self._candidates(goal, state.query or "")
        fresh = [c for c in candidates if c.asin not in state.visited] or [
            c for c in candidates if c.suits
        ]
        turns, page, first = 0, state.number, None
        for candidate in fresh:
            target = candidate.rank // size + 1
            if first is None:
                first = (target - page, candidate.asin)
            turns += abs(target - page) + 1
            page = target
            if candidate.suits:
                turns += 1 + len(choose(self._shop.products[candidate.asin], goal))
                return ExpertStep(turns, "click", towards(*first))
            turns += 1
        return None

    def _search(self, goal: ShopGoal, size: int) -> ExpertStep | None:
        query = self.query(goal)
        on = self._from_results(goal, ShopState(RESULTS, query), size)
        return None if on is None else ExpertStep(1 + on.turns, "search", query)

    def _candidates(self, goal: ShopGoal, query: str) -> tuple[MatchingHit, ...]:
        """List the hits that look right on the results page: words of the target, and price."""
        key = (goal.asin, goal.instruction_text, query)
        candidates = self._lists.get(key)
        if candidates is None:
            candidates = self._lists.put(key, tuple(self._look(goal, query)))
        return candidates

    def _look(self, goal: ShopGoal, query: str) -> Iterator[MatchingHit]:
        products = self._shop.products
        terms = set(tokenize(goal.instruction_text))
        listed_terms = terms.intersection(self._listed_terms(products[goal.asin]))
        for rank, asin in enumerate(self._shop.search(query)):
            item = products[asin]
            if item.price <= goal.price_upper and listed_terms.issubset(self._listed_terms(item)):
                yield MatchingHit(rank, asin, self._suits(asin, goal))

    def _listed_terms(self, item: Product) -> list[str]:
        """List the terms of a product's results line."""
        line = [item.title, *(compact.highlights(item) if self._highlights else ())]
        return tokenize(" ".join(line))

    def _suits(self, asin: str, goal: ShopGoal) -> bool:
        """Return whether a product, bought with the asked options, earns the full reward."""
        item = self._shop.products[asin]
        selection = dict(choose(item, goal))
        return self._shop.reward(item, goal, selection, self._reward).reward == 1.0
