"""Goals of shoppers, derived from products and instructions.

:func:`synthetic_goals` and :func:`human_goals` follow the original, and :func:`official_goals` puts
them in its order; :func:`solvable_goals` makes a few solvable goals per product.

The original draws price bounds from an unseeded generator, so they differ in every process. Here
each bound depends only on its goal.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as cross
from math import prod
from typing import Any

from agentgym.core.outcome import total
from agentgym.envs.webshop.engine.products import Instruction, Product, unit_interval
from agentgym.envs.webshop.official.schema import NAMES, CatalogEntry, Origins, listed

PRICE_STEPS = range(10, 1000, 10)
CANDIDATE_BOUNDS = 4
NO_BOUND = 1_000_000.0
SHUFFLE_SEED = 233

Options = Mapping[str, str] | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShopGoal:
    """One goal: the instruction, and the values that the reward compares a purchase with."""

    asin: str
    """The product that the instruction describes."""
    name: str
    """Its title."""
    category: str
    """Its department."""
    query: str
    """Search term under which it is filed."""
    product_category: str
    """Its category path."""
    instruction_text: str
    """The instruction, with the price bound."""
    attributes: tuple[str, ...]
    """Requested attributes."""
    goal_options: Options
    """Requested options: a mapping from group to value (synthetic), or values only (human)."""
    price_upper: float
    """Price bound, in dollars, inclusive."""
    weight: float = 1.0
    """Relative frequency in the original's draw."""

    @property
    def option_values(self) -> tuple[str, ...]:
        """The requested option values, without their groups."""
        options = self.goal_options
        return tuple(options.values()) if isinstance(options, Mapping) else options

    def to_content(self) -> dict[str, Any]:
        """Return the goal as a JSON object, for :meth:`from_content`."""
        options = self.goal_options
        return {
            "asin": self.asin,
            "name": self.name,
            "category": self.category,
            "query": self.query,
            "product_category": self.product_category,
            "instruction_text": self.instruction_text,
            "attributes": list(self.attributes),
            "goal_options": dict(options) if isinstance(options, Mapping) else list(options),
            "price_upper": self.price_upper,
            "weight": self.weight,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> ShopGoal:
        """Rebuild a goal from :meth:`to_content` or from the original's goal dict."""
        options = content["goal_options"]
        return cls(
            content["asin"], content["name"], content["category"], content["query"],
            content["product_category"], content["instruction_text"],
            tuple(content["attributes"]),
            dict(options) if isinstance(options, Mapping) else tuple(options),
            float(content["price_upper"]), float(content.get("weight", 1.0)),
        )  # fmt: skip


GoalMaker = Callable[[Collection[Product]], list[ShopGoal]]
"""Makes the goals of a shop from its products."""


def price_bound(price: float, *key: object) -> float | None:
    """Draw the price bound of a goal, determined by ``key``.

    It is the larger of two of the first four multiples of ten above the price; None if fewer than
    two of these are below 1,000.
    """
    bounds = [step for step in PRICE_STEPS if step > price][:CANDIDATE_BOUNDS]
    if len(bounds) < 2:
        return None
    # One entry for each pair of bounds, as drawing two without replacement weighs them.
    larger = [high for i, high in enumerate(bounds) for _ in range(i)]
    return float(larger[int(unit_interval("bound", *key) * len(larger))])


def synthetic_goals(
    products: Iterable[Product], instructions: Mapping[str, Instruction]
) -> list[ShopGoal]:
    """Make the original's synthetic goals, unshuffled: one per combination of a product's options.

    They are weighted by the rarity of their attributes.
    """
    goals: list[ShopGoal] = []
    for item in products:
        instruction = instructions.get(item.asin, Instruction())
        if instruction.text is None or not instruction.requested_attributes:
            continue
        bound = price_bound(item.price, item.asin)
        names = sorted(item.options)
        for values in cross(*(item.options[name] for name in names)):
            options = dict(zip(names, values, strict=True))
            goals.append(
                _goal(item, instruction.text, instruction.requested_attributes, options, bound)
            )
    counts = Counter(attribute for goal in goals for attribute in goal.attributes)
    return [
        replace(goal, weight=total(1.0 / counts[a] for a in goal.attributes) / len(goal.attributes))
        for goal in goals
    ]


def human_goals(
    products: Iterable[Product], human: Mapping[str, Any], origin: str = NAMES.human
) -> list[ShopGoal]:
    """Make the original's goals from instructions that people wrote, unshuffled, all of weight 1.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    goals = []
    for item in products:
        place = f"{item.asin!r} in {origin}"
        for number, value in enumerate(listed(human.get(item.asin, ()), place)):
            entry = CatalogEntry(value, f"entry {number} of {place}")
            attributes = entry.texts("instruction_attributes")
            if attributes:
                bound = price_bound(item.price, item.asin, number)
                options = entry.texts("instruction_options")
                text = entry.text("instruction").strip(".")
                goals.append(_goal(item, text, attributes, options, bound))
    return goals


def solvable_goals(
    item: Product,
    instruction: Instruction,
    *,
    seed: int,
    limit: int,
    solvable: Callable[[Product, ShopGoal], bool],
) -> Iterator[ShopGoal]:
    """Yield at most ``limit`` distinct goals of one product, independent of every other product.

    Args:
        item: The product.
        instruction: Its entry of the instructions file.
        seed: Selects the requested combinations of options.
        limit: Maximum number of goals.
        solvable: Returns whether buying the product with the requested options scores 1; other
            goals are left out.
    """
    if instruction.text is None or not instruction.requested_attributes:
        return
    names = sorted(item.options)
    combinations = prod(len(item.options[name]) for name in names)
    for k, number in enumerate(_distinct(combinations, limit, ("goal", seed, item.asin))):
        options = {}
        for name in reversed(names):
            number, place = divmod(number, len(item.options[name]))
            options[name] = item.options[name][place]
        ordered = {name: options[name] for name in names}
        bound = price_bound(item.price, seed, item.asin, k)
        goal = _goal(item, instruction.text, instruction.requested_attributes, ordered, bound)
        if solvable(item, goal):
            yield goal


def official_goals(
    instructions: Mapping[str, Any],
    human: Mapping[str, Any] | None,
    origins: Origins = NAMES,
) -> GoalMaker:
    """Return a maker of the original's goals, in its order; synthetic ones if ``human`` is None."""

    def make(products: Collection[Product]) -> list[ShopGoal]:
        if human is not None:
            goals = human_goals(products, human, origins.human)
        else:
            goals = synthetic_goals(products, {item.asin: entry(item.asin) for item in products})
        random.Random(SHUFFLE_SEED).shuffle(goals)
        return goals

    def entry(asin: str) -> Instruction:
        return Instruction.parse(instructions.get(asin), origins.instruction(asin))

    return make


def _distinct(size: int, limit: int, key: Sequence[object]) -> list[int]:
    """Choose at most ``limit`` distinct numbers below ``size`` by key."""
    if size <= limit:
        return list(range(size))
    numbers: dict[int, None] = {}
    draw = 0
    while len(numbers) < limit:
        numbers[int(unit_interval(*key, draw) * size)] = None
        draw += 1
    return list(numbers)


def _goal(
    item: Product, text: str, attributes: tuple[str, ...], options: Options, bound: float | None
) -> ShopGoal:
    """Put the clauses of an instruction together."""
    if isinstance(options, Mapping) and options:
        text += " with " + ", and ".join(f"{name}: {value}" for name, value in options.items())
    if bound is not None:
        text += f", and price lower than {bound:.2f} dollars"
    return ShopGoal(
        item.asin, item.title, item.category, item.query, item.product_category, text, attributes,
        options, NO_BOUND if bound is None else bound,
    )  # fmt: skip
