"""The tasks of WebShop: goals in disjoint splits, the same on every machine.

Generated shops are split by family and official ones by product, so that no product of the test
split is ever a training target. Sizes are fixed by name: of ``G`` goals, ``test`` holds
``min(500, G // 8)``, ``valid`` ``min(1000, G // 4)`` and ``train`` the goals of all other
products; with the usual four goals, 1,000 products give 500, 1,000 and about 2,500.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from agentgym.envs.webshop.engine.goals import Goal
from agentgym.envs.webshop.generator import Catalogue
from agentgym.envs.webshop.pools import GOALS_PER_PRODUCT, GeneratedPool, GoalPool, ListedPool
from agentgym.envs.webshop.splits import Split, official_splits, product_splits
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.tasks import SPLITS, Task, TaskSet

SPLIT_MODES = ("product", "official-index")
CACHED_TASKS = 1 << 14

PlanLength = Callable[[Goal], "int | None"]


class ShopTasks(TaskSet):
    """The goals of one shop as tasks.

    Ids read ``webshop/<key>/<split>/<index>``: a policy sees them, so they must not name the
    product that is looked for. Ids of older records, ``webshop/<key>/<asin>/<k>``, are still found.
    A task's content is the goal, so that panels notice a changed text, option or bound.

    In ``product`` mode the units of the pool are ordered by a hash of their names; the first fill
    ``test``, the next ``valid``, and all others are ``train``. In ``official-index`` mode the goals
    keep their given order and 0-499 are ``test``, 500-1499 ``valid``, the rest ``train``, as in the
    literature: there most test products also own train goals, so use it for comparison with
    published numbers only.

    Args:
        key: Name of the shop in task ids.
        pool: The goals.
        split_mode: ``product`` or ``official-index``.
        order: The goals as ``(unit, number)`` pairs in official order; for ``official-index``.
        plan_length: Gives the length of the expert's plan for a goal.
        old_key: Name of the shop in ids of older records; None if it was the same.

    Raises:
        ConfigurationError: The mode is unknown or there are too few goals.
    """

    def __init__(
        self,
        key: str,
        pool: GoalPool,
        *,
        split_mode: str = "product",
        order: Sequence[tuple[int, int]] = (),
        plan_length: PlanLength | None = None,
        old_key: str | None = None,
    ) -> None:
        if split_mode not in SPLIT_MODES:
            raise ConfigurationError(
                f"expected split_mode to be one of {', '.join(SPLIT_MODES)}; got {split_mode!r}"
            )
        self.name = f"webshop/{key}"
        self._old_name = f"webshop/{key if old_key is None else old_key}"
        self.plan_length = plan_length
        self.split_mode = split_mode
        self._pool = pool
        official = split_mode == "official-index"
        self._splits: Mapping[str, Split] = (
            official_splits(order) if official else product_splits(pool)
        )
        self._turns: dict[str, int | None] = {}
        self._tasks: dict[tuple[str, int], Task] = {}
        empty = [split for split in SPLITS if not len(self._splits[split])]
        if empty:
            sizes = ", ".join(f"{split} {len(self._splits[split])}" for split in SPLITS)
            raise ConfigurationError(
                f"expected goals for every split of {self.name}, got {sizes}; use a larger "
                "catalogue, or split_mode='product' for a small one"
            )

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        self._known(split)
        return len(self._splits[split])

    def task(self, split: str, index: int) -> Task:
        """Return task number ``index`` of ``split``."""
        self.check(split, index)
        index = int(index)
        task = self._tasks.get((split, index))
        if task is None:
            goal = self._pool.goal(*self._splits[split].place(index))
            name = f"{self.name}/{split}/{index}"
            task = Task(name, split, index, goal.instruction_text, goal.to_content())
            if len(self._tasks) >= CACHED_TASKS:
                self._tasks.clear()
            self._tasks[split, index] = task
        return task

    def find(self, task_id: str) -> Task:
        """Return the task with this id."""
        with suppress(KeyError, ValueError, TaskNotFound):
            head, _, tail = str(task_id).rpartition("/")
            shop, _, place = head.rpartition("/")
            number = int(tail)
            if tail == str(number):  # a number can be written in many ways, an id in one
                if shop == self.name and place in self._splits:
                    return self.task(place, number)
                if shop == self._old_name:
                    return self._of_product(place, number)
        raise TaskNotFound(
            f"expected the id of a task of {self.name}, such as {self.task('train', 0).id}; got "
            f"{task_id!r}; make the environment with the catalogue that the id names"
        )

    def oracle_turns(self, task: Task) -> int | None:
        """Return the length of the expert's plan for ``task``, remembered once it is known."""
        if task.id not in self._turns:
            if self.plan_length is None:
                return None
            self._turns[task.id] = self.plan_length(Goal.from_content(task.content))
        return self._turns[task.id]

    def _of_product(self, asin: str, k: int) -> Task:
        """Return the task of goal ``k`` of a product, as older ids name it."""
        unit, number = self._pool.locate(asin, k)
        for split, members in self._splits.items():
            index = members.index(unit, number)
            if index is not None:
                return self.task(split, index)
        raise KeyError(asin)

    def _known(self, split: str) -> None:
        if split not in self._splits:
            raise TaskNotFound(
                f"expected a split of {self.name}: one of {', '.join(SPLITS)}; got {split!r}"
            )


def generated_tasks(
    catalogue: Catalogue,
    goals_per_product: int = GOALS_PER_PRODUCT,
    plan_length: PlanLength | None = None,
    key: str | None = None,
) -> ShopTasks:
    """Return the tasks of a generated shop, split by family.

    Args:
        catalogue: The shop.
        goals_per_product: Goals of each product.
        plan_length: Gives the length of the expert's plan for a goal.
        key: Name of the shop in task ids; None is the catalogue's.
    """
    pool = GeneratedPool(catalogue, goals_per_product)
    key = catalogue.key if key is None else key
    return ShopTasks(key, pool, plan_length=plan_length, old_key=catalogue.key)


def listed_tasks(
    key: str,
    goals: Sequence[Goal],
    split_mode: str = "product",
    plan_length: PlanLength | None = None,
    old_key: str | None = None,
) -> ShopTasks:
    """Return the tasks of a shop whose goals are given.

    Args:
        key: Name of the shop in task ids.
        goals: For ``product``, the goals to keep; for ``official-index``, all goals in the
            original's order (:func:`agentgym.envs.webshop.engine.goals.shuffled`).
        split_mode: ``product`` or ``official-index``.
        plan_length: Gives the length of the expert's plan for a goal.
        old_key: Name of the shop in ids of older records; None if it was the same.
    """
    pool = ListedPool(goals)
    order = pool.order() if split_mode == "official-index" else ()
    return ShopTasks(
        key, pool, split_mode=split_mode, order=order, plan_length=plan_length, old_key=old_key
    )
