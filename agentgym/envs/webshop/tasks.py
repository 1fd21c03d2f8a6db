"""The tasks of WebShop: goals in disjoint splits, the same on every machine.

Goals come in units that are never divided between splits: clusters of near-duplicates in a
generated shop, single products otherwise. So no product of the test split is ever a training
target. Of ``G`` goals, ``test`` has ``min(500, G // 8)``, ``valid`` ``min(1000, G // 4)`` and
``train`` the goals of all other units; with the default of four goals, 1,000 products give 500,
1,000 and about 2,500.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from agentgym.core.options import choice, integer
from agentgym.core.tasks import SPLITS, NumberedTasks, whole_number
from agentgym.envs.webshop.engine.goals import ShopGoal
from agentgym.envs.webshop.generator import GeneratedShop
from agentgym.errors import ConfigurationError

GOALS_PER_PRODUCT = 4
"""Default number of goals of each generated product."""
SPLIT_MODES = ("product", "official-index")
TEST_GOALS, VALID_GOALS = 500, 1000
TEST_SHARE, VALID_SHARE = 8, 4
OFFICIAL_TEST, OFFICIAL_VALID = 500, 1500

PlanLength = Callable[[ShopGoal], "int | None"]


class GeneratedPool:
    """The goals of a generated shop by cluster, made on demand.

    Every goal is solvable by construction: targets have all requested properties, and the colour
    rule of the official reward misreads no word of the vocabulary (tests check both).
    """

    def __init__(self, shop: GeneratedShop, per_product: int = GOALS_PER_PRODUCT) -> None:
        self._shop = shop
        self._per_product = integer(per_product, "goals_per_product", 1, None)

    def units(self) -> Sequence[str]:
        """Return the names of the units; only the name determines the split of a unit."""
        return [f"family {number}" for number in range(self._shop.clusters)]

    def count(self, unit: int) -> int:
        """Return the number of goals of a unit."""
        return len(self._shop.members(unit)) * self._per_product

    def goal(self, unit: int, number: int) -> ShopGoal:
        """Return a goal of a unit; consecutive numbers cycle through its products."""
        members = self._shop.members(unit)
        k, place = divmod(number, len(members))
        return self._shop.goal(members[place], k)

    def locate(self, asin: str, k: int) -> tuple[int, int]:
        """Return unit and number of goal ``k`` of a product; KeyError if it does not exist."""
        index = self._shop.index(asin)
        if not 0 <= k < self._per_product:
            raise KeyError(k)
        cluster = self._shop.cluster_of(index)
        members = self._shop.members(cluster)
        return cluster, k * len(members) + index - members[0]


class ListedPool:
    """A sequence of goals, one unit per product."""

    def __init__(self, goals: Sequence[ShopGoal]) -> None:
        self._goals = goals
        self._positions: dict[str, list[int]] = {}
        for position, goal in enumerate(goals):
            self._positions.setdefault(goal.asin, []).append(position)
        self._asins = list(self._positions)
        self._places = {asin: place for place, asin in enumerate(self._asins)}

    def units(self) -> Sequence[str]:
        """Return the names of the units; only the name determines the split of a unit."""
        return self._asins

    def count(self, unit: int) -> int:
        """Return the number of goals of a unit."""
        return len(self._positions[self._asins[unit]])

    def goal(self, unit: int, number: int) -> ShopGoal:
        """Return a goal of a unit."""
        return self._goals[self._positions[self._asins[unit]][number]]

    def locate(self, asin: str, k: int) -> tuple[int, int]:
        """Return unit and number of goal ``k`` of a product; KeyError if it does not exist."""
        if not 0 <= k < len(self._positions[asin]):
            raise KeyError(k)
        return self._places[asin], k

    def order(self) -> list[tuple[int, int]]:
        """Return the goals in order, as pairs of unit and number."""
        pairs = [(0, 0)] * len(self._goals)
        for unit, positions in enumerate(self._positions.values()):
            for number, position in enumerate(positions):
                pairs[position] = unit, number
        return pairs


class UnitSplit:
    """The goals of some units, in an order that scatters the goals of a unit.

    Args:
        units: The units.
        counts: Number of goals of each.
        limit: Maximum number of goals; excess goals of the last unit are left out.
    """

    def __init__(
        self, units: Sequence[int], counts: Sequence[int], limit: int | None = None
    ) -> None:
        self._units = units
        self._ends = list(accumulate(counts, initial=0))
        self._size = self._ends[-1] if limit is None else min(limit, self._ends[-1])
        self._ranks = {unit: rank for rank, unit in enumerate(units)}
        # Steps near the golden section, without a common divisor, visit each goal once and keep
        # neighbours apart.
        self._step = max(1, self._size * 618 // 1000)
        while self._size and math.gcd(self._step, self._size) != 1:
            self._step += 1

    def __len__(self) -> int:
        """Number of goals."""
        return self._size

    def place(self, index: int) -> tuple[int, int]:
        """Return unit and number of the goal at an index."""
        position = index * self._step % self._size
        rank = bisect_right(self._ends, position) - 1
        return self._units[rank], position - self._ends[rank]

    def index(self, unit: int, number: int) -> int | None:
        """Return the index of a goal, or None if it is not in this split."""
        rank = self._ranks.get(unit)
        if rank is None or self._ends[rank] + number >= self._size:
            return None
        return (self._ends[rank] + number) * pow(self._step, -1, self._size) % self._size


class ListSplit:
    """Goals in a fixed order."""

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self._pairs = pairs
        self._indices = {pair: index for index, pair in enumerate(pairs)}

    def __len__(self) -> int:
        """Number of goals."""
        return len(self._pairs)

    def place(self, index: int) -> tuple[int, int]:
        """Return unit and number of the goal at an index."""
        return self._pairs[index]

    def index(self, unit: int, number: int) -> int | None:
        """Return the index of a goal, or None if it is not in this split."""
        return self._indices.get((unit, number))


def product_splits(pool: GeneratedPool | ListedPool) -> dict[str, UnitSplit | ListSplit]:
    """Fill test, then valid, then train with whole units in the order of their hashes."""
    names = pool.units()
    order = sorted(range(len(names)), key=lambda unit: _split_hash(names[unit]))
    counts = [pool.count(unit) for unit in order]
    ends = list(accumulate(counts))
    total = ends[-1] if ends else 0
    test = min(TEST_GOALS, total // TEST_SHARE)
    valid = min(VALID_GOALS, total // VALID_SHARE)
    first = bisect_left(ends, test) + 1 if test else 0
    used = ends[first - 1] if first else 0
    second = bisect_left(ends, used + valid) + 1 if valid else first
    return {
        "train": UnitSplit(order[second:], counts[second:]),
        "valid": UnitSplit(order[first:second], counts[first:second], valid),
        "test": UnitSplit(order[:first], counts[:first], test),
    }


def official_splits(pool: ListedPool) -> dict[str, UnitSplit | ListSplit]:
    """Split the order of goals at 500 and 1,500, as the literature does.

    Most test products also have train goals, so use it only for comparison with published numbers.
    On small data some splits may be empty.
    """
    order = pool.order()
    return {
        "train": ListSplit(order[OFFICIAL_VALID:]),
        "valid": ListSplit(order[OFFICIAL_TEST:OFFICIAL_VALID]),
        "test": ListSplit(order[:OFFICIAL_TEST]),
    }


def _split_hash(name: str) -> bytes:
    """Return the key by which units are ordered."""
    return hashlib.blake2b(name.encode(), key=b"agentgym/webshop/split", digest_size=16).digest()


class ShopTasks(NumberedTasks[ShopGoal]):
    """The goals of one shop as tasks.

    Ids have the form ``webshop/<key>/<split>/<index>``: a policy sees them, so they must not name
    the target. Ids of older records, ``webshop/<key>/<asin>/<k>``, remain valid. A task's content
    is the goal, so that panels notice a changed text, option or bound.

    Args:
        key: Name of the shop in task ids.
        pool: The goals.
        splits: The goals of each split, see :func:`product_splits` and :func:`official_splits`.
        plan_length: Returns the length of the expert's plan for a goal.
        old_key: Name of the shop in ids of older records; None if it was the same.

    Raises:
        ConfigurationError: A split is empty.
    """

    remedy = "make the environment with the shop that the id names"

    def __init__(
        self,
        key: str,
        pool: GeneratedPool | ListedPool,
        splits: Mapping[str, UnitSplit | ListSplit],
        *,
        plan_length: PlanLength | None = None,
        old_key: str | None = None,
    ) -> None:
        super().__init__(f"webshop/{key}", plan_length=plan_length)
        self._old_name = f"webshop/{key if old_key is None else old_key}"
        self._pool = pool
        self._splits = splits
        if not all(map(len, splits.values())):
            sizes = ", ".join(f"{split} {len(splits[split])}" for split in SPLITS)
            raise ConfigurationError(
                f"expected goals for every split of {self.name}, got {sizes}; use a larger "
                "shop (with human_goals, all official products), or split_mode='product' for a "
                "small one"
            )

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return len(self._splits[self.check(split)])

    def _problem(self, split: str, number: int) -> ShopGoal:
        return self._pool.goal(*self._splits[split].place(number))

    def _describe(
        self, split: str, number: int, problem: ShopGoal
    ) -> tuple[str, Mapping[str, Any]]:
        return problem.instruction_text, problem.to_content()

    def _place(self, task_id: str) -> tuple[str, int] | None:
        place = super()._place(task_id)
        head, _, tail = task_id.rpartition("/")
        name, _, asin = head.rpartition("/")
        k = whole_number(tail)
        if place is not None or name != self._old_name or k is None:
            return place
        with suppress(KeyError):  # the product, or its goal, is not of this shop
            goal = self._pool.locate(asin, k)
            for split, members in self._splits.items():
                number = members.index(*goal)
                if number is not None:
                    return split, number
        return None


def generated_tasks(
    shop: GeneratedShop,
    goals_per_product: int = GOALS_PER_PRODUCT,
    plan_length: PlanLength | None = None,
    key: str | None = None,
) -> ShopTasks:
    """Return the tasks of a generated shop, split by cluster; ``key`` replaces its key in ids."""
    pool = GeneratedPool(shop, goals_per_product)
    return ShopTasks(
        shop.key if key is None else key, pool, product_splits(pool),
        plan_length=plan_length, old_key=shop.key,
    )  # fmt: skip


def listed_tasks(
    key: str,
    goals: Sequence[ShopGoal],
    split_mode: str = "product",
    plan_length: PlanLength | None = None,
    old_key: str | None = None,
) -> ShopTasks:
    """Return the tasks of a shop and its goals.

    Args:
        key: Name of the shop in task ids.
        goals: For ``product``, the goals to use; for ``official-index``, all goals in the
            original's order (:func:`agentgym.envs.webshop.engine.goals.official_goals`).
        split_mode: ``product`` or ``official-index``.
        plan_length: Returns the length of the expert's plan for a goal.
        old_key: Name of the shop in ids of older records; None if it was the same.
    """
    pool = ListedPool(goals)
    official = choice(split_mode, "split_mode", SPLIT_MODES) == "official-index"
    splits = official_splits(pool) if official else product_splits(pool)
    return ShopTasks(key, pool, splits, plan_length=plan_length, old_key=old_key)
