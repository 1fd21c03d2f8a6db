"""The shortest plan: items to get and to craft, their recipes and order.

To get any number of an item takes one turn; each craft takes one. So a plan follows from the choice
of a recipe for each item (and of an item for each tag): amounts are added up from the goal
downwards, with each item after all items made from it. The search tries the choices, cheapest
first, and abandons one as soon as it is no shorter than the best plan so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product

from agentgym.envs.textcraft.engine.recipes import Amount, CraftWorld, Recipe, RecipeBook

CHOICES = 2000
"""Maximum number of choices to search; the best plan so far is used then."""
MEMBERS = 3
"""Maximum number of items of a tag to try for an ingredient."""

Choice = tuple[Recipe, tuple[Amount, ...], int]
"""A recipe, its ingredients as items, and the number of crafts."""


class _PlanSearch:
    """Find the shortest plan that crafts an item.

    Args:
        book: The recipes.
        carried: What is carried.
    """

    def __init__(self, book: RecipeBook, carried: Mapping[str, int]) -> None:
        self._book, self._carried = book, carried
        self._choices_left = CHOICES
        self._turns = 0
        self._best: dict[str, Choice | int] | None = None

    def plan(self, goal: str) -> tuple[str, ...] | None:
        """Return the commands; None if nothing makes the item."""
        if goal not in self._book.turns:
            return None
        self._choose({goal: 1 + self._carried.get(goal, 0)}, {}, 0)
        return None if self._best is None else tuple(_ordered(goal, self._best, set()))

    def _choose(self, needed: dict[str, int], choices: dict[str, Choice | int], turns: int) -> None:
        """Settle what is needed, the items with the longest way first."""
        book = self._book
        while needed:
            item = max(needed, key=lambda name: (book.turns[name], name))
            short = needed.pop(item) - self._carried.get(item, 0)
            if short <= 0:
                continue
            if item not in book.by_product:
                choices[item] = short
                turns += 1
                continue
            for recipe, amounts in self._ways(item):
                times = -(-short // recipe.product.count)
                if self._best is not None and (
                    turns + times >= self._turns or self._choices_left <= 0
                ):
                    continue
                more = dict(needed)
                for amount in amounts:
                    more[amount.name] = more.get(amount.name, 0) + times * amount.count
                self._choose(more, {**choices, item: (recipe, amounts, times)}, turns + times)
            return
        self._choices_left -= 1
        if self._best is None or turns < self._turns:
            self._best, self._turns = choices, turns

    def _ways(self, item: str) -> Iterator[tuple[Recipe, tuple[Amount, ...]]]:
        """Yield what an item can be crafted of, cheapest first; nothing costs more than it does."""
        turns = self._book.turns
        ways = []
        for recipe in self._book.by_product[item]:
            if any(
                turns.get(ingredient.name, turns[item]) >= turns[item]
                for ingredient in recipe.ingredients
            ):
                continue  # a way round in a circle, or one that nobody can go
            several = [self._members(ingredient, turns[item]) for ingredient in recipe.ingredients]
            for amounts in islice(product(*several), CHOICES):
                if len({amount.name for amount in amounts}) == len(amounts):
                    ways.append((sum(turns[amount.name] for amount in amounts), recipe, amounts))
        for _, recipe, amounts in sorted(ways, key=lambda way: way[0]):
            yield recipe, amounts

    def _members(self, ingredient: Amount, below: int) -> list[Amount]:
        """Return items for an ingredient: those carried first, then those that cost least."""
        turns = self._book.turns
        names = [n for n in self._book.members(ingredient.name) if turns.get(n, below) < below]
        names.sort(
            key=lambda name: (self._carried.get(name, 0) < ingredient.count, turns[name], name)
        )
        least = turns[ingredient.name]
        candidates = [name for name in names if name == names[0] or turns[name] == least]
        return [Amount(name, ingredient.count) for name in candidates[:MEMBERS]]


def _ordered(item: str, choices: Mapping[str, Choice | int], yielded: set[str]) -> Iterator[str]:
    """Yield the commands that make an item, each after those that make its ingredients."""
    if item in yielded or item not in choices:
        return
    yielded.add(item)
    choice = choices[item]
    if isinstance(choice, int):
        yield f"get {Amount(item, choice)}"
        return
    recipe, amounts, times = choice
    for amount in amounts:
        yield from _ordered(amount.name, choices, yielded)
    yield from [recipe.using(amounts)] * times


def shortest_plan(world: CraftWorld, carried: Mapping[str, int]) -> tuple[str, ...] | None:
    """Return the commands that craft the goal; None if nothing makes it.

    Args:
        world: The world.
        carried: The inventory: item -> its number.
    """
    return _PlanSearch(world.book, carried).plan(world.goal)


class OracleExpert:
    """Plan once and follow the plan; plan again after a deviation.

    Args:
        world: The world.
    """

    def __init__(self, world: CraftWorld) -> None:
        self._world = world
        self._plan: tuple[str, ...] | None = None

    def plan(self, carried: Mapping[str, int]) -> tuple[str, ...]:
        """Return the remaining commands up to the goal."""
        if self._plan is None:
            self._plan = self._find(carried)
        return self._plan

    def saw(self, command: str) -> None:
        """Record that a command had an effect."""
        if command == "inventory" or self._plan is None:
            return
        self._plan = self._plan[1:] if self._plan[:1] == (command,) else None

    def won(self) -> None:
        """Record that the goal is crafted: the remaining plan is empty."""
        self._plan = ()

    def snapshot(self) -> tuple[str, ...] | None:
        """Return the remaining plan, if there is one."""
        return self._plan

    def restore(self, state: tuple[str, ...] | None) -> None:
        """Continue a plan."""
        self._plan = state

    def _find(self, carried: Mapping[str, int]) -> tuple[str, ...]:
        """Work the plan out; empty where nothing makes the goal."""
        return shortest_plan(self._world, carried) or ()
