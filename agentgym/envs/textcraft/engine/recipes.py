"""Recipes, and the book of those that a world has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

NAMESPACE = "minecraft:"
"""How ids of published recipes begin; generated items have none."""


def shown(name: str) -> str:
    """Return an item or a tag as commands write it."""
    return name.removeprefix(NAMESPACE).replace("_", " ")


@dataclass(frozen=True, slots=True)
class Amount:
    """So many of an item, or of any item with a tag."""

    name: str
    """Id of the item, or of the tag."""
    count: int
    """How many."""

    def __str__(self) -> str:
        """Return it as commands write it."""
        return f"{self.count} {shown(self.name)}"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What makes what."""

    product: Amount
    """The item, and how many of it come out."""
    ingredients: tuple[Amount, ...]
    """What goes in, each name once."""

    def using(self, ingredients: Iterable[Amount]) -> str:
        """Return the command that crafts by this recipe with these ingredients."""
        return f"craft {self.product} using {', '.join(map(str, ingredients))}"

    def __str__(self) -> str:
        """Return the command as the task shows it."""
        return self.using(self.ingredients)


class RecipeBook:
    """The recipes of a world, and what follows from them.

    Args:
        recipes: All recipes.
        tags: Tags that ingredients may name, each with the items that have it.

    Attributes:
        by_product: The recipes of each item that can be crafted.
        tags: The tags.
        found: Items that no recipe makes: they can be got.
        turns: Turns that a single piece of each item costs, alone and from nothing; of a tag those
            of its cheapest item. Items that nothing can make are missing.
        depths: Crafts on the longest way to each item from what is got, by the shallowest recipes.
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
            names.update((each.name, None) for each in recipe.ingredients)
        items = [name for name in names if name not in self.tags]
        self.found = frozenset(name for name in items if name not in self.by_product)
        self._ids = {shown(name): name for name in items}
        self.turns = self._least(1, sum)
        self.depths = self._least(0, max)

    def item(self, text: str) -> str | None:
        """Return the id of the item that commands call by this name; None if there is none."""
        return self._ids.get(text)

    def members(self, name: str) -> Sequence[str]:
        """Return the items that will do where a recipe names this item or tag."""
        return self.tags.get(name, (name,))

    def _least(self, found: int, combine: Callable[[list[int]], int]) -> dict[str, int]:
        """Return the least value of each item and tag: what is got has ``found``, a craft adds 1.

        It looks at all recipes until no value falls any more, so circles of recipes do no harm.
        """
        known = dict.fromkeys(self.found, found)
        changed = True
        while changed:
            changed = False
            for tag, items in self.tags.items():
                if values := [known[item] for item in items if item in known]:
                    known[tag] = min(values)
            for product, recipes in self.by_product.items():
                for recipe in recipes:
                    if any(each.name not in known for each in recipe.ingredients):
                        continue
                    value = combine([known[each.name] for each in recipe.ingredients]) + 1
                    if value < known.get(product, value + 1):
                        known[product], changed = value, True
        return known


@dataclass(frozen=True, slots=True)
class World:
    """What a task is made of."""

    book: RecipeBook
    """All that can be crafted."""
    goal: str
    """Id of the item to craft."""
    commands: tuple[Recipe, ...]
    """The recipes that the task shows, those that it needs among them."""

    @property
    def depth(self) -> int:
        """Crafts on the longest way to the goal."""
        return self.book.depths[self.goal]

    def opening(self) -> str:
        """Return the first observation."""
        listed = "\n".join(map(str, self.commands))
        return f"Crafting commands:\n{listed}\n\nGoal: craft {shown(self.goal)}."
