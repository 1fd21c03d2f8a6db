"""Base of the experts: from any state, take the shorter of continuing and a new search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.engine.products import Product
from agentgym.envs.webshop.engine.reward import fuzzy, plain_colour
from agentgym.envs.webshop.engine.session import (
    BUY,
    DONE,
    ITEM,
    NEXT,
    PREVIOUS,
    RESULTS,
    SUB,
    ShopSession,
    ShopState,
)
from agentgym.envs.webshop.engine.shop import Shop


class ExpertStep(NamedTuple):
    """The expert's next action, and the number of remaining actions including it."""

    turns: int
    """Number of actions up to the purchase, including this one."""
    name: Literal["search", "click"]
    """``search`` or ``click``."""
    argument: str
    """The query, or the name to click."""


class Expert(ABC):
    """Plans for the goals of one shop."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def step(self, session: ShopSession) -> ExpertStep | None:
        """Return the next step of the shortest path to the purchase.

        None after the purchase, or if no search finds an acceptable product. Ties are resolved in
        favour of continuing from the open page.
        """
        return self._next(session.goal, session.state, session.page_size)

    def turns_left(self, goal: ShopGoal, state: ShopState, page_size: int) -> int | None:
        """Return the number of actions up to the purchase, or None if there is no plan."""
        if state.page == DONE:
            return 0
        step = self._next(goal, state, page_size)
        return None if step is None else step.turns

    def _next(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        """Continue from the open page, or search anew if that is shorter."""
        if state.page == DONE:
            return None
        on = None
        if state.page in (ITEM, SUB):
            on = self._from_page(goal, state, size)
            if on is not None and state.page == SUB:
                on = ExpertStep(1 + on.turns, "click", PREVIOUS)
        elif state.page == RESULTS:
            on = self._from_results(goal, state, size)
        anew = self._search(goal, size)
        if on is None or (anew is not None and anew.turns < on.turns):
            return anew
        return on

    def turns(self, goal: ShopGoal, page_size: int) -> int | None:
        """Return the length of the plan from the start, or None if there is none."""
        step = self._search(goal, page_size)
        return None if step is None else step.turns

    def thought(self, session: ShopSession) -> str:
        """Return the comparison to write on the open page; empty if there is none."""
        return ""

    @abstractmethod
    def _search(self, goal: ShopGoal, size: int) -> ExpertStep | None:
        """Begin with a search."""

    @abstractmethod
    def _from_results(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        """Continue on a results page: open a product, or turn pages towards it."""

    @abstractmethod
    def _from_page(self, goal: ShopGoal, state: ShopState, size: int) -> ExpertStep | None:
        """Continue on an item page: choose and buy, or go back to the results."""


def towards(away: int, asin: str) -> str:
    """Return the click that leads to a product ``away`` pages of results ahead."""
    return asin.lower() if not away else NEXT if away > 0 else PREVIOUS


def buy(state: ShopState, options: tuple[tuple[str, str], ...]) -> ExpertStep:
    """Choose the options that are still missing on the open page, then buy."""
    selection = dict(state.options)
    missing = [value for group, value in options if selection.get(group) != value]
    return ExpertStep(1 + len(missing), "click", missing[0] if missing else BUY)


def choose(product: Product, goal: ShopGoal) -> tuple[tuple[str, str], ...]:
    """Return the (group, value) pairs of a product that meet a goal, at most one per group."""
    selection: dict[str, str] = {}
    for requested in goal.option_values:
        value = _offered(product, requested)
        if value is not None and value in product.choosable:
            selection.setdefault(product.group_of[value], value)
    order = list(product.options)
    return tuple(sorted(selection.items(), key=lambda pair: order.index(pair[0])))


def _offered(product: Product, requested: str) -> str | None:
    """Find the offered value that is, or counts as, the wanted one."""
    if requested in product.group_of:
        return requested
    colour = str(plain_colour(requested))
    alike = (v for v in product.group_of if fuzzy(str(plain_colour(v)), colour))
    return next(alike, None)
