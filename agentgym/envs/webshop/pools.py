"""Where the goals of a shop come from, in units that a split must not tear apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentgym.envs.webshop.engine.goals import Goal
from agentgym.envs.webshop.generator import Catalogue, Request
from agentgym.errors import ConfigurationError

GOALS_PER_PRODUCT = 4
"""Goals of each generated product, unless told otherwise."""


class GoalPool(Protocol):
    """Goals in units that must not be torn apart by a split: families, or single products."""

    def units(self) -> Sequence[str]:
        """Return the names of the units; a name alone decides where its unit goes."""

    def count(self, unit: int) -> int:
        """Return the number of goals of a unit."""

    def goal(self, unit: int, number: int) -> Goal:
        """Return goal ``number`` of a unit."""

    def locate(self, asin: str, k: int) -> tuple[int, int]:
        """Return unit and number of goal ``k`` of a product.

        Raises:
            KeyError: There is no such goal.
        """


class GeneratedPool:
    """The goals of a generated catalogue, made when they are asked for.

    Every goal is solvable by construction: targets have what is asked of them, and no word of the
    vocabulary trips over the colour rule of the official reward (a test proves both).

    Args:
        catalogue: The shop.
        per_product: Goals of each product.
    """

    def __init__(self, catalogue: Catalogue, per_product: int = GOALS_PER_PRODUCT) -> None:
        if per_product < 1:
            raise ConfigurationError(
                f"expected goals_per_product to be at least 1, got {per_product}; the default is "
                f"{GOALS_PER_PRODUCT}"
            )
        self._catalogue = catalogue
        self._per_product = per_product

    def units(self) -> Sequence[str]:
        """Return the names of the families."""
        return [f"family {number}" for number in range(self._catalogue.families)]

    def count(self, unit: int) -> int:
        """Return the number of goals of a family."""
        return len(self._catalogue.members(unit)) * self._per_product

    def goal(self, unit: int, number: int) -> Goal:
        """Return a goal of a family; consecutive numbers go round its products."""
        members = self._catalogue.members(unit)
        k, place = divmod(number, len(members))
        return to_goal(self._catalogue.request(members[place], k))

    def locate(self, asin: str, k: int) -> tuple[int, int]:
        """Return family and number of goal ``k`` of a product."""
        index = self._catalogue.index(asin)
        if not 0 <= k < self._per_product:
            raise KeyError(k)
        family = self._catalogue.family_of(index)
        members = self._catalogue.members(family)
        return family, k * len(members) + index - members[0]


class ListedPool:
    """Goals given as a sequence, one unit per product.

    Args:
        goals: The goals, those of one product in a fixed order.
    """

    def __init__(self, goals: Sequence[Goal]) -> None:
        self._goals = goals
        self._positions: dict[str, list[int]] = {}
        for position, goal in enumerate(goals):
            self._positions.setdefault(goal.asin, []).append(position)
        self._asins = list(self._positions)
        self._places = {asin: place for place, asin in enumerate(self._asins)}

    def units(self) -> Sequence[str]:
        """Return the asins of the products."""
        return self._asins

    def count(self, unit: int) -> int:
        """Return the number of goals of a product."""
        return len(self._positions[self._asins[unit]])

    def goal(self, unit: int, number: int) -> Goal:
        """Return a goal of a product."""
        return self._goals[self._positions[self._asins[unit]][number]]

    def locate(self, asin: str, k: int) -> tuple[int, int]:
        """Return unit and number of goal ``k`` of a product."""
        if not 0 <= k < len(self._positions[asin]):
            raise KeyError(k)
        return self._places[asin], k

    def order(self) -> list[tuple[int, int]]:
        """Return the goals in their given order, as pairs of unit and number."""
        pairs = [(0, 0)] * len(self._goals)
        for unit, positions in enumerate(self._positions.values()):
            for number, position in enumerate(positions):
                pairs[position] = unit, number
        return pairs


def to_goal(request: Request) -> Goal:
    """Turn a generated request into the goal that the reward reads."""
    return Goal(
        asin=request.asin,
        name=request.name,
        category=request.category,
        query=request.query,
        product_category=request.product_category,
        instruction_text=request.instruction,
        attributes=request.attributes,
        goal_options=dict(request.options),
        price_upper=request.price_upper,
    )
