"""The world: everything that shoppers share, and nothing that they change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.caching import BoundedCache
from agentgym.envs.webshop.engine import goals as goal_makers
from agentgym.envs.webshop.engine.goals import Goal
from agentgym.envs.webshop.engine.products import Instruction, Product, parse_product, usable
from agentgym.envs.webshop.engine.reward import Match, RewardDetails, match, score
from agentgym.envs.webshop.official.schema import Entry, Origins
from agentgym.envs.webshop.store import (
    Products,
    Records,
    open_goals,
    pack_goals,
    typed_array,
)
from agentgym.retrieval import BM25Index

HITS = 50
"""Most products that a search finds."""
LONGEST_QUERY = 2048
PRECOMPUTED_PLANS = 5000
"""Up to this many products the expert's searches are worked out when the world is built."""
CACHED_SEARCHES = 16384
CACHED_MATCHES = 32768
_UNREACHABLE = -1
_UNNAMED = Origins()
_NO_SIGNS = str.maketrans("[]<", "   ")

NounsOf = Callable[[Mapping[str, Any]], Sequence[str]]


class World:
    """An immutable shop: products, search engine, and caches that only save time.

    Args:
        products: The products.
        index: Search engine over :meth:`Product.document`, with asins as ids.
        goals: Goals that belong to the shop, in their given order.
        plans: For each product, the query variant and the rank that lead to it [products, 2].
    """

    def __init__(
        self,
        products: Products,
        index: BM25Index,
        goals: Sequence[Goal] = (),
        plans: npt.NDArray[np.int16] | None = None,
    ) -> None:
        self.products = products
        self.index = index
        self.goals = goals
        self._plans = plans
        self._searches: BoundedCache[str, tuple[str, ...]] = BoundedCache(CACHED_SEARCHES)
        self._matches: BoundedCache[tuple[str, str, tuple[str, ...]], Match] = BoundedCache(
            CACHED_MATCHES
        )
        self._known_plans: BoundedCache[str, tuple[str, int] | None] = BoundedCache(CACHED_SEARCHES)

    @classmethod
    def build(
        cls,
        items: Iterable[Any],
        instructions: Mapping[str, Any],
        nouns: NounsOf,
        *,
        prices: Mapping[str, float] | None = None,
        goals: Sequence[Goal] | Callable[[Sequence[Product]], Iterable[Goal]] = (),
        origins: Origins = _UNNAMED,
    ) -> World:
        """Make a world from data in the official schema.

        Args:
            items: The items file.
            instructions: The ``items_ins`` file.
            nouns: Gives the nouns of an item.
            prices: Price that counts, by asin; drawn from the asin where left out.
            goals: Goals to keep, or a function that makes them of the products.
            origins: Names of the files, for error messages.

        Returns:
            The world, in memory.

        Raises:
            DataError: An item or instruction does not follow the official schema; the message
                names file, item and field.
        """
        given = prices or {}

        def parsed() -> Iterable[Product]:
            for where, item in usable(items, origins.items):
                asin, name = item["asin"], Entry(item, where).text("name")
                entry = Instruction.parse(instructions.get(asin), origins.instruction(asin))
                words = tuple(nouns({**item, "name": name}))
                yield parse_product(item, entry, words, given.get(asin), where)

        asins: list[str] = []
        documents: list[str] = []

        def records() -> Iterable[list[Any]]:
            for product in parsed():
                asins.append(product.asin)
                documents.append(product.document())
                yield product.to_record()

        packed = Records.pack(records())
        products = Products(packed, asins)
        world = cls(products, BM25Index.build(documents, asins))
        made = goals(products.items) if callable(goals) else goals
        if callable(goals):
            made = open_goals(pack_goals(made, products.row), products)
        world.goals = made if isinstance(made, Sequence) else list(made)
        if len(asins) <= PRECOMPUTED_PLANS:
            world._plans = world._all_plans()
        return world

    def with_goals(self, goals: Sequence[Goal]) -> World:
        """Return the same shop with other goals."""
        return World(self.products, self.index, goals, self._plans)

    # -- what shoppers ask ----------------------------------------------------------------------

    def search(self, query: str) -> tuple[str, ...]:
        """Return the asins that a query finds, best first, at most ``HITS``."""
        found = self._searches.get(query)
        if found is None:
            found = self._searches.put(query, tuple(self.index.search(query, HITS)[0]))
        return found

    def match(self, item: Product, goal: Goal) -> Match:
        """Compare a product with a goal, options aside."""
        key = (item.asin, goal.asin, goal.attributes)
        found = self._matches.get(key)
        if found is None:
            nouns = self.products[goal.asin].nouns
            found = self._matches.put(key, match(item, goal, nouns))
        return found

    def reward(
        self, item: Product, goal: Goal, chosen: Mapping[str, str], mode: str = "official"
    ) -> RewardDetails:
        """Return what buying ``item`` with the chosen options earns."""
        return score(self.match(item, goal), item, goal, chosen, mode)

    def solvable(self, item: Product, goal: Goal) -> bool:
        """Tell whether buying the goal's own product as asked scores 1, in both reward modes."""
        options = goal.goal_options
        if not isinstance(options, Mapping) or not set(options.values()) <= set(item.choosable):
            return False
        clicked = {item.group_of[value]: value for value in options.values()}
        return all(
            self.reward(item, goal, clicked, mode).reward == 1.0 for mode in ("official", "strict")
        )

    def plan(self, asin: str) -> tuple[str, int] | None:
        """Return a query that finds a product, and the product's rank from 0; None if none does."""
        if asin in self._known_plans:
            return self._known_plans[asin]
        row = self.products.row(asin)
        if self._plans is None:
            variant, rank = self._find(asin)
        else:
            variant, rank = self._plans[row].tolist()
        if rank == _UNREACHABLE:
            return self._known_plans.put(asin, None)
        return self._known_plans.put(asin, (self._queries(asin)[variant], rank))

    # -- storage --------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write the world to a folder, for :meth:`open`; its files have names of their own."""
        self.index.save(folder)
        self.products.items.records.save(folder, "products")
        pack_goals(self.goals, self.products.row).save(folder, "goals")
        if self._plans is not None:
            np.save(folder / "plans.npy", self._plans)

    @classmethod
    def open(cls, folder: Path) -> World:
        """Map a saved world.

        Raises:
            DataError: The folder holds no whole world.
        """
        index = BM25Index.open(folder)
        products = Products(Records.open(folder, "products"), index.ids)
        goals = open_goals(Records.open(folder, "goals"), products)
        path = folder / "plans.npy"
        plans = typed_array(path, np.int16, (len(products), 2)) if path.exists() else None
        return cls(products, index, goals, plans)

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """Copies of an environment share the world."""
        return self

    # -- parts ----------------------------------------------------------------------------------

    def _queries(self, asin: str) -> tuple[str, str]:
        """Return the expert's queries for a product: its title, then all that is indexed."""
        item = self.products[asin]
        return plain_query(item.title), plain_query(item.document())

    def _find(self, asin: str) -> tuple[int, int]:
        """Return the first query variant that finds a product, and its rank."""
        best = (0, _UNREACHABLE)
        for variant, query in enumerate(self._queries(asin)):
            found = self.index.search(query, HITS)[0]
            if asin in found:
                rank = found.index(asin)
                if rank < 10:
                    return variant, rank
                if best[1] == _UNREACHABLE or rank < best[1]:
                    best = (variant, rank)
        return best

    def _all_plans(self) -> npt.NDArray[np.int16]:
        flat = chain.from_iterable(self._find(asin) for asin in self.products.asins)
        return np.fromiter(flat, np.int16).reshape(-1, 2)


def plain_query(text: str) -> str:
    """Write a text so that it can stand in ``search[...]`` in every grammar.

    On one line, bounded, without brackets, and without the sign that begins a tag.
    """
    return " ".join(text.lower().translate(_NO_SIGNS).split())[:LONGEST_QUERY].strip()


def official_goals(
    instructions: Mapping[str, Any],
    human: Mapping[str, Any] | None,
    origins: Origins = _UNNAMED,
) -> Callable[[Sequence[Product]], list[Goal]]:
    """Return a maker of the original's goals, in the original's order.

    Args:
        instructions: The ``items_ins`` file.
        human: The ``items_human_ins`` file for human goals; None for synthetic ones.
        origins: Names of the files, for error messages.
    """

    def make(products: Sequence[Product]) -> list[Goal]:
        if human is not None:
            found = goal_makers.human_goals(products, human, origin=origins.human)
            return goal_makers.shuffled(found)
        parsed = {
            item.asin: Instruction.parse(
                instructions.get(item.asin), origins.instruction(item.asin)
            )
            for item in products
        }
        return goal_makers.shuffled(goal_makers.synthetic_goals(products, parsed))

    return make
