"""A visit as a state machine: the open page, the clickable names, the effect of a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.products import Product
from agentgym.envs.webshop.engine.reward import RewardDetails
from agentgym.envs.webshop.engine.shop import Shop

PageKind = Literal["index", "results", "item", "sub", "done"]
INDEX: Final = "index"
RESULTS: Final = "results"
ITEM: Final = "item"
SUB: Final = "sub"
DONE: Final = "done"
SUB_PAGES = ("description", "features", "reviews")
BACK, PREVIOUS, NEXT, BUY, SEARCH = "back to search", "< prev", "next >", "buy now", "search"


class ShopState(NamedTuple):
    """The mutable state of a session; cheap to store, compare and restore."""

    page: PageKind = INDEX
    """Kind of the open page."""
    query: str | None = None
    """Words of the last search."""
    number: int = 1
    """Number of the results page, from 1."""
    asin: str | None = None
    """The open or bought product."""
    options: tuple[tuple[str, str], ...] = ()
    """Chosen (group, value) pairs in the order in which the groups were first chosen."""
    visited: tuple[str, ...] = ()
    """Products opened since the last return to the search page."""
    sub: str | None = None
    """Name of the open sub-page."""


class ShopSession:
    """One shopper in a shop that all sessions share.

    Args:
        shop: The shop.
        goal: The goal of the shopper.
        page_size: Products on a results page.
        reward: Reward mode, ``"official"`` or ``"strict"``.
    """

    __slots__ = ("_reward", "details", "goal", "page_size", "shop", "state")

    def __init__(
        self, shop: Shop, goal: ShopGoal, page_size: int = 10, reward: str = "official"
    ) -> None:
        self.shop = shop
        self.goal = goal
        self.page_size = page_size
        self._reward = reward
        self.state = ShopState()
        self.details: RewardDetails | None = None

    @property
    def product(self) -> Product:
        """The open product; only on item, sub and done pages."""
        asin = self.state.asin
        assert asin is not None, "no product is open"
        return self.shop.products[asin]

    @property
    def options(self) -> dict[str, str]:
        """Chosen value of each option group."""
        return dict(self.state.options)

    def ranking(self) -> Sequence[str]:
        """Return the asins that the current search finds, best first."""
        return self.shop.search(self.state.query or "")

    def hits(self) -> Sequence[str]:
        """Return the asins on the current page of results."""
        last = self.state.number * self.page_size
        return self.ranking()[last - self.page_size : last]

    def total(self) -> int:
        """Return the number of hits of the current search."""
        return len(self.ranking())

    def clickables(self) -> list[str]:
        """Return the names that can be clicked, in the original's order.

        On the index page this is ``["search"]``, which announces the search bar and cannot be
        clicked.
        """
        page = self.state.page
        if page == RESULTS:
            head = [BACK, PREVIOUS, NEXT] if self.state.number > 1 else [BACK, NEXT]
            return head + [asin.lower() for asin in self.hits()]
        if page == ITEM:
            return list(self.product.clickables)
        if page == SUB:
            return [BACK, PREVIOUS]
        return [SEARCH] if page == INDEX else []

    def search(self, query: str) -> None:
        """Search for a lower-case query; possible on every page, even after the purchase."""
        # The original checks neither the page nor the query.
        self.state = ShopState(RESULTS, query, visited=self.state.visited)

    def click(self, name: str) -> bool:
        """Click a name of :meth:`clickables`; return whether it exists."""
        state = self.state
        if state.page in (INDEX, DONE):
            return False
        if name == BACK:
            self.state = ShopState()
            return True
        if state.page == RESULTS:
            return self._click_results(name)
        if state.page == SUB:
            if name == PREVIOUS:
                self.state = state._replace(page=ITEM, sub=None)
            return name == PREVIOUS
        return self._click_item(name)

    def value(self) -> RewardDetails | None:
        """Return the reward for buying the open product; None if no product is open."""
        if self.state.asin is None:
            return None
        return self.shop.reward(self.product, self.goal, self.options, self._reward)

    def snapshot(self) -> tuple[Any, ...]:
        """Return the state as a plain tuple."""
        return (*self.state, self.goal.to_content())

    def restore(self, snapshot: Sequence[Any]) -> None:
        """Restore a state of :meth:`snapshot`, including its goal."""
        *state, goal = snapshot
        self.state = ShopState(*state)
        self.goal = ShopGoal.from_content(goal)
        self.details = self.value() if self.state.page == DONE else None

    def _click_results(self, name: str) -> bool:
        state = self.state
        if name == NEXT:
            self.state = ShopState(RESULTS, state.query, state.number + 1, visited=state.visited)
            return True
        if name == PREVIOUS and state.number > 1:
            self.state = ShopState(RESULTS, state.query, state.number - 1, visited=state.visited)
            return True
        asin = next((asin for asin in self.hits() if asin.lower() == name), None)
        if asin is None:
            return False
        visited = state.visited if asin in state.visited else (*state.visited, asin)
        self.state = state._replace(page=ITEM, asin=asin, visited=visited)
        return True

    def _click_item(self, name: str) -> bool:
        state = self.state
        if name == BUY:
            self.details = self.value()
            self.state = state._replace(page=DONE)
        elif name == PREVIOUS:
            self.state = ShopState(RESULTS, state.query, state.number, visited=state.visited)
        elif name in SUB_PAGES:
            self.state = state._replace(page=SUB, sub=name)
        else:
            group = self.product.group_of.get(name)
            if group is None:
                return False
            options = dict(state.options)
            options[group] = name
            self.state = state._replace(options=tuple(options.items()))
        return True
