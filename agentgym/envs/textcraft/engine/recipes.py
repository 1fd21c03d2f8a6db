"""Recipes, and the recipe book of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

NAMESPACE = "minecraft:"
"""Prefix of the ids of published recipes; generated items have none."""


def format_name(name: str) -> str:
    """Return an item or a tag as it is written in commands."""
    return name.removeprefix(NAMESPACE).replace("_", " ")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of an item, or of any item with a tag."""

    name: str
    """Id of the item, or of the tag."""
    count: int
    """The number."""

    def __str__(self) -> str:
        """Return the text used in commands."""
        return f"{self.count} {format_name(self.name)}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe: ingredients and their product."""

    product: Amount
    """The item and its number per craft."""
    ingredients: tuple[Amount, ...]
    """The ingredients, each name once."""

    def using(self, ingredients: Iterable[Amount]) -> str:
        """Return the command that crafts by this recipe with these ingredients."""
        return f"craft {self.product} using {', '.join(map(str, ingredients))}"

    def __str__(self) -> str:
        """Return the command as the task shows it."""
        return self.using(self.ingredients)


class RecipeBook:
    """The recipes of a world, and quantities derived from them.

    Args:
        recipes: All recipes.
        tags: Tags that ingredients may name, each with its items.

    Attributes:
        by_product: The recipes of each craftable item.
        tags: The tags.
        raw_items: Items that no recipe makes; the command ``get`` provides them.
        turns: Number of turns to make one of each item from nothing; for a tag, of its cheapest
            item. Items that cannot be made are missing.
        depths: Number of crafts on the longest path to each item, by the shallowest recipes.
    """

    def __init__(
        self, recipes: Sequence[Recipe], tags: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.tags = {name: tuple(items) for name, items in (tags or {}).items()}
        self.by_product: dict[str, tuple[Recipe, ...]] = {}
        names: dict[str, None] = {}
        for recipe in recipes:
            product = recipe.product.name
            self.by_product[product] = (*self.by_product.get(product, ()), recipe)
            names[product] = None
            names.update((ingredient.name, None) for ingredient in recipe.ingredients)
        items = [name for name in names if name not in self.tags]
        self.raw_items = frozenset(name for name in items if name not in self.by_product)
        self._ids = {format_name(name): name for name in items}
        self.turns = self._least(1, sum)
        self.depths = self._least(0, max)

    def item(self, text: str) -> str | None:
        """Return the id of the item with this name in commands; None if there is none."""
        return self._ids.get(text)

    def members(self, name: str) -> Sequence[str]:
        """Return the items that a recipe accepts for this item or tag."""
        return self.tags.get(name, (name,))

    def _least(self, raw_value: int, combine: Callable[[list[int]], int]) -> dict[str, int]:
        """Return the least value of each item and tag: ``raw_value`` for raw ones, plus 1 a craft.

        It looks at all recipes until no value falls any more, so circles of recipes do no harm.
        """
        lowest = dict.fromkeys(self.raw_items, raw_value)
        changed = True
        while changed:
            changed = False
            for tag, items in self.tags.items():
                if values := [lowest[item] for item in items if item in lowest]:
                    lowest[tag] = min(values)
            for product, recipes in self.by_product.items():
                for recipe in recipes:
                    if any(ingredient.name not in lowest for ingredient in recipe.ingredients):
                        continue
                    value = (
                        combine([lowest[ingredient.name] for ingredient in recipe.ingredients]) + 1
                    )
                    if value < lowest.get(product, value + 1):
                        lowest[product], changed = value, True
        return lowest


@dataclass(frozen=True, slots=True)
class CraftWorld:
    """The content of a task."""

    book: RecipeBook
    """All recipes."""
    goal: str
    """Id of the item to craft."""
    commands: tuple[Recipe, ...]
    """The recipes that the task shows, including all that it needs."""

    @property
    def depth(self) -> int:
        """Number of crafts on the longest path to the goal."""
        return self.book.depths[self.goal]

    def opening(self) -> str:
        """Return the first observation."""
        listed = "\n".join(map(str, self.commands))
        return f"Crafting commands:\n{listed}\n\nGoal: craft {format_name(self.goal)}."
