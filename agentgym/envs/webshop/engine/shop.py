"""The shop: the immutable data that all shoppers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agentgym.envs.webshop.engine.goals import GoalMaker, ShopGoal
from agentgym.envs.webshop.engine.nouns import NounsOf
from agentgym.envs.webshop.engine.product_storage import (
    PackedRecords,
    ProductTable,
    StoredGoals,
    typed_array,
)
from agentgym.envs.webshop.engine.products import Instruction, Product, parse_product, usable
from agentgym.envs.webshop.engine.reward import GoalMatch, RewardDetails, match, score
from agentgym.envs.webshop.official.schema import NAMES, CatalogEntry, Origins
from agentgym.retrieval import BM25Index
from agentgym.support.caching import BoundedCache

HITS = 50
"""Maximum number of products that a search returns."""
LONGEST_QUERY = 2048
PRECOMPUTED_PLANS = 5000
"""Up to this many products the expert's queries are computed when the shop is built."""
CACHED_SEARCHES = 16384
CACHED_MATCHES = 32768
_UNREACHABLE = -1
_NO_SIGNS = str.maketrans("[]<", "   ")


class Shop:
    """An immutable shop: products, search engine, and caches.

    Args:
        products: The products.
        search_engine: Index over :meth:`Product.document`, with asins as ids.
        goals: Goals of the shop, in order.
        plans: For each product, the query variant and the rank that lead to it [products, 2].
    """

    def __init__(
        self,
        products: ProductTable,
        search_engine: BM25Index,
        goals: Sequence[ShopGoal] = (),
        plans: npt.NDArray[np.int16] | None = None,
    ) -> None:
        self.products = products
        self.search_engine = search_engine
        self.goals = goals
        self._plans = plans
        self._searches: BoundedCache[str, tuple[str, ...]] = BoundedCache(CACHED_SEARCHES)
        self._matches: BoundedCache[tuple[str, str, tuple[str, ...]], GoalMatch] = BoundedCache(
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
        goals: GoalMaker | None = None,
        origins: Origins = NAMES,
    ) -> Shop:
        """Make a shop from data in the official schema.

        Args:
            items: The items file.
            instructions: The ``items_ins`` file.
            nouns: Returns the nouns of an item.
            prices: Price by asin; for others the asin selects it.
            goals: Makes the goals of the products; none if left out.
            origins: Names of the files, for error messages.

        Raises:
            DataError: An item or instruction does not follow the official schema; the message
                names file, item and field.
        """
        price_by_asin = prices or {}
        asins: list[str] = []
        documents: list[str] = []

        def records() -> Iterable[list[Any]]:
            for file_name, item in usable(items, origins.items):
                asin, name = item["asin"], CatalogEntry(item, file_name).text("name")
                entry = Instruction.parse(instructions.get(asin), origins.instruction(asin))
                words = tuple(nouns({**item, "name": name}))
                product = parse_product(item, entry, words, price_by_asin.get(asin), file_name)
                asins.append(asin)
                documents.append(product.document())
                yield product.to_record()

        packed = PackedRecords.pack(records())  # which fills asins and documents
        products = ProductTable(packed, asins)
        shop = cls(products, BM25Index.build(documents, asins))
        if goals is not None:
            shop.goals = StoredGoals.pack(goals(products.values()), products)
        if len(asins) <= PRECOMPUTED_PLANS:
            shop._plans = shop._all_plans()
        return shop

    # -- what shoppers ask ----------------------------------------------------------------------

    def search(self, query: str) -> tuple[str, ...]:
        """Return the asins that a query finds, best first, at most ``HITS``."""
        asins = self._searches.get(query)
        if asins is None:
            asins = self._searches.put(query, self._search_uncached(query))
        return asins

    def match(self, item: Product, goal: ShopGoal) -> GoalMatch:
        """Compare a product with a goal, except for options."""
        # The goals of one product differ in options and bounds, which a match does not depend on.
        key = (item.asin, goal.asin, goal.attributes)
        goal_match = self._matches.get(key)
        if goal_match is None:
            nouns = self.products[goal.asin].nouns
            goal_match = self._matches.put(key, match(item, goal, nouns))
        return goal_match

    def reward(
        self, item: Product, goal: ShopGoal, selection: Mapping[str, str], mode: str = "official"
    ) -> RewardDetails:
        """Return the reward for buying ``item`` with the chosen options."""
        return score(self.match(item, goal), item, goal, selection, mode)

    def solvable(self, item: Product, goal: ShopGoal) -> bool:
        """Return whether buying the goal's product as requested scores 1 in both reward modes."""
        options = goal.goal_options
        if not isinstance(options, Mapping) or not set(options.values()) <= set(item.choosable):
            return False
        clicked = {item.group_of[value]: value for value in options.values()}
        return all(
            self.reward(item, goal, clicked, mode).reward == 1.0 for mode in ("official", "strict")
        )

    def plan(self, asin: str) -> tuple[str, int] | None:
        """Return a query that finds a product and the product's rank from 0, or None."""
        plan = self._known_plans.get(asin, False)  # in one step: other threads drop entries
        if not isinstance(plan, bool):
            return plan
        if self._plans is None:
            variant, rank = self._find(asin)
        else:
            variant, rank = self._plans[self.products.row(asin)].tolist()
        if rank == _UNREACHABLE:
            return self._known_plans.put(asin, None)
        return self._known_plans.put(asin, (self._queries(asin)[variant], rank))

    # -- storage --------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write the shop to a folder, for :meth:`open`; its files have distinct names."""
        self.search_engine.save(folder)
        self.products.records.save(folder, "products")
        StoredGoals.pack(self.goals, self.products).records.save(folder, "goals")
        if self._plans is not None:
            np.save(folder / "plans.npy", self._plans)

    @classmethod
    def open(cls, folder: Path) -> Shop:
        """Map a saved shop.

        Raises:
            DataError: The folder does not contain a complete shop.
        """
        search_engine = BM25Index.open(folder)
        products = ProductTable(PackedRecords.open(folder, "products"), list(search_engine.ids))
        goals = StoredGoals(PackedRecords.open(folder, "goals"), products)
        path = folder / "plans.npy"
        plans = typed_array(path, np.int16, (len(products), 2)) if path.exists() else None
        return cls(products, search_engine, goals, plans)

    def __deepcopy__(self, memo: dict[int, Any]) -> Shop:
        """Share the shop between copies of an environment."""
        return self

    # -- parts ----------------------------------------------------------------------------------

    def _search_uncached(self, query: str) -> tuple[str, ...]:
        """Search without the cache of earlier searches."""
        asins = self.products.asins
        rows, _ = self.search_engine.search_rows(query, HITS)
        return tuple([asins[row] for row in rows.tolist()])

    def _queries(self, asin: str) -> tuple[str, str]:
        """Return the expert's queries for a product: its title, then all that is indexed."""
        item = self.products[asin]
        return plain_query(item.title), plain_query(item.document())

    def _find(self, asin: str) -> tuple[int, int]:
        """Return the query variant that leads to a product, and the product's rank.

        It is the first that shows the product on the first page, else the one that ranks it best.
        """
        best = (0, _UNREACHABLE)
        for variant, query in enumerate(self._queries(asin)):
            asins = self._search_uncached(query)
            if asin in asins:
                rank = asins.index(asin)
                if rank < 10:
                    return variant, rank
                if best[1] == _UNREACHABLE or rank < best[1]:
                    best = (variant, rank)
        return best

    def _all_plans(self) -> npt.NDArray[np.int16]:
        """Return query variant and rank of each product [products, 2]."""
        flat = chain.from_iterable(self._find(asin) for asin in self.products.asins)
        return np.fromiter(flat, np.int16).reshape(-1, 2)


def plain_query(text: str) -> str:
    """Clean a text so that ``search[...]`` can contain it in every grammar.

    The result is one bounded line without brackets and without the sign that begins a tag.
    """
    return " ".join(text.lower().translate(_NO_SIGNS).split())[:LONGEST_QUERY].strip()
