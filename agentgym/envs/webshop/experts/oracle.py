"""The expert: it knows the target, and finishes from any state in as few actions as it can.

The plan searches for the target's title, turns pages up to it, opens it, chooses the asked options
and buys. From a deviation it continues whichever way is shorter: on from where it is, or by a new
search. Every name it clicks is one that :meth:`Session.click` takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from agentgym.caching import BoundedCache
from agentgym.envs.webshop.engine import session as e
from agentgym.envs.webshop.engine.goals import Goal
from agentgym.envs.webshop.engine.index import World
from agentgym.envs.webshop.engine.products import Product
from agentgym.envs.webshop.engine.reward import fuzzy, plain_colour
from agentgym.envs.webshop.engine.session import Session, State

CACHED_CHOICES = 8192


class Step(NamedTuple):
    """The expert's next action, and how many are left with it."""

    turns: int
    """Actions until the purchase, this one included."""
    name: str
    """``"search"`` or ``"click"``."""
    argument: str
    """The query, or the name to click."""


class Expert:
    """Plans for the goals of one world.

    Args:
        world: The shop.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._choices: BoundedCache[tuple[str, str], tuple[tuple[str, str], ...]] = BoundedCache(
            CACHED_CHOICES
        )

    def step(self, session: Session) -> Step | None:
        """Return the next step of the shortest continuation.

        Args:
            session: A session in any state.

        Returns:
            The step; None after the purchase, or if no search finds the target.
        """
        if session.state.page == e.DONE:
            return None
        return min(self._ways(session), key=lambda step: step.turns, default=None)

    def turns(self, goal: Goal, page_size: int) -> int | None:
        """Return the length of the plan from the start, or None if there is none."""
        plan = self._world.plan(goal.asin)
        if plan is None:
            return None
        return 3 + plan[1] // page_size + len(self.choices(goal))

    def choices(self, goal: Goal) -> tuple[tuple[str, str], ...]:
        """Return the (group, value) pairs to click on the target, in shown order."""
        key = (goal.asin, goal.instruction_text)
        found = self._choices.get(key)
        if found is None:
            product = self._world.products[goal.asin]
            found = self._choices.put(key, choose(product, goal))
        return found

    def _ways(self, session: Session) -> Iterator[Step]:
        """Yield the ways on from a state, the one that stays closest first."""
        goal, state, size = session.goal, session.state, session.page_size
        missing = self._missing(goal, state)
        if state.page == e.SUB:
            on = self._from_item(goal, state, size, missing)
            if on is not None:
                yield Step(1 + on.turns, "click", e.PREVIOUS)
        elif state.page == e.ITEM:
            on = self._from_item(goal, state, size, missing)
            if on is not None:
                yield on
        elif state.page == e.RESULTS:
            on = self._from_results(goal, state, size)
            if on is not None:
                yield on
        plan = self._world.plan(goal.asin)
        if plan is not None:
            query, rank = plan
            yield Step(3 + rank // size + len(self.choices(goal)), "search", query)

    def _from_item(self, goal: Goal, state: State, size: int, missing: list[str]) -> Step | None:
        """Continue on an item page: choose and buy, or go back to the results."""
        if state.asin == goal.asin:
            return Step(1 + len(missing), "click", missing[0] if missing else e.BUY)
        on = self._from_results(goal, state, size)
        return None if on is None else Step(1 + on.turns, "click", e.PREVIOUS)

    def _from_results(self, goal: Goal, state: State, size: int) -> Step | None:
        """Continue on a results page: turn pages up to the target and open it."""
        hits = self._world.search(state.query or "")
        if goal.asin not in hits:
            return None
        away = hits.index(goal.asin) // size + 1 - state.number
        turns = abs(away) + 2 + len(self.choices(goal))
        if away:
            return Step(turns, "click", e.NEXT if away > 0 else e.PREVIOUS)
        return Step(turns, "click", goal.asin.lower())

    def _missing(self, goal: Goal, state: State) -> list[str]:
        """List the values that are still to be clicked."""
        if state.asin != goal.asin:
            return []
        chosen = dict(state.options)
        return [value for group, value in self.choices(goal) if chosen.get(group) != value]


def choose(product: Product, goal: Goal) -> tuple[tuple[str, str], ...]:
    """Decide which options of a product meet a goal.

    Args:
        product: The target.
        goal: Its goal.

    Returns:
        (group, value) pairs, one per group at most, as clicks would set them.
    """
    asked = goal.goal_options
    values = asked.values() if isinstance(asked, Mapping) else asked
    chosen: dict[str, str] = {}
    for wanted in values:
        value = _offered(product, wanted)
        if value is not None and value in product.choosable:
            chosen.setdefault(product.group_of[value], value)
    order = list(product.options)
    return tuple(sorted(chosen.items(), key=lambda pair: order.index(pair[0])))


def _offered(product: Product, wanted: str) -> str | None:
    """Find the offered value that is, or counts as, the wanted one."""
    if wanted in product.group_of:
        return wanted
    colour = str(plain_colour(wanted))
    alike = (v for v in product.group_of if fuzzy(str(plain_colour(v)), colour))
    return next(alike, None)
