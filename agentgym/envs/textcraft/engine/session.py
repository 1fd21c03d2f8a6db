"""One episode: commands in, text out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agentgym.envs.textcraft.engine.recipes import Amount, CraftWorld, Recipe, format_name

MOST = 9999
"""Maximum number of an item in a command."""
ECHO = 200
"""Maximum number of characters of a command that a reply repeats."""
_CRAFT = re.compile(r"craft (?P<product>.+?) using (?P<ingredients>.+)")
_GET = re.compile(r"get (?P<count>[0-9]+) (?P<item>.+)")
_RECIPE = re.compile(r"recipe (?P<item>.+)")
_COUNTED = re.compile(r"(?P<count>[0-9]+) (?P<item>.+)")


class CraftTurn(NamedTuple):
    """The result of a command."""

    text: str
    """The observation."""
    valid: bool = True
    """Whether it had an effect."""
    won: bool = False
    """Whether it crafted the goal."""


class CraftSession:
    """The inventory in a world, and the effect of commands on it.

    Args:
        world: The world.
        look_up: Whether a command shows the recipes of an item.

    Attributes:
        world: The world.
        inventory: Item -> its number, in the order of acquisition.
    """

    def __init__(self, world: CraftWorld, look_up: bool = False) -> None:
        self.world = world
        self._look_up = look_up
        self.inventory: dict[str, int] = {}

    def step(self, command: str) -> CraftTurn:
        """Execute a command; any text is accepted."""
        text = " ".join(command.split())
        if text == "inventory":
            return CraftTurn(self._listed())
        if get_match := _GET.fullmatch(text):
            return self._get(get_match["count"], get_match["item"])
        if crafted := _CRAFT.fullmatch(text):
            return self._craft(crafted["product"], crafted["ingredients"])
        if self._look_up and (recipe_match := _RECIPE.fullmatch(text)):
            return self._recipes(recipe_match["item"])
        return CraftTurn(f"Could not execute {text[:ECHO]}", valid=False)

    def admissible(self) -> list[str]:
        """Return the commands that have an effect here and that the recipes of the task name.

        ``get`` is listed with the amounts that some recipe requires.
        """
        raw_items = self.world.book.raw_items
        needed = {
            Amount(member, ingredient.count): None
            for recipe in self.world.commands
            for ingredient in recipe.ingredients
            for member in self.world.book.members(ingredient.name)
            if member in raw_items
        }
        gets = [f"get {amount}" for amount in needed]
        crafts = [
            recipe.using(amounts)
            for recipe in self.world.commands
            if (amounts := self._at_hand(recipe)) is not None
        ]
        product_names = [
            format_name(recipe.product.name) for recipe in self.world.commands if self._look_up
        ]
        lookups = [f"recipe {name}" for name in dict.fromkeys(product_names)]
        return [*gets, *dict.fromkeys(crafts), *lookups, "inventory"]

    def snapshot(self) -> Any:
        """Return the inventory."""
        return dict(self.inventory)

    def restore(self, state: Any) -> None:
        """Restore the inventory of a snapshot."""
        self.inventory = dict(state)

    # -- parts ----------------------------------------------------------------------------------

    def _listed(self) -> str:
        if not self.inventory:
            return "Inventory: You are not carrying anything."
        return "Inventory: " + " ".join(
            f"[{format_name(i)}] ({n})" for i, n in self.inventory.items()
        )

    def _recipes(self, name: str) -> CraftTurn:
        item = self.world.book.item(name)
        listed = [str(recipe) for recipe in self.world.commands if recipe.product.name == item]
        if listed:
            return CraftTurn("\n".join(listed))
        return CraftTurn(f"Could not find a recipe for {name[:ECHO]}", valid=False)

    def _get(self, count: str, name: str) -> CraftTurn:
        item = self.world.book.item(name)
        if item is None or item not in self.world.book.raw_items:
            return CraftTurn(f"Could not find {name[:ECHO]}", valid=False)
        number = _number(count)
        if number is None:
            return CraftTurn(
                f"Could not get so many: expected a number from 1 to {MOST}", valid=False
            )
        self.inventory[item] = self.inventory.get(item, 0) + number
        return CraftTurn(f"Got {number} {name}")

    def _craft(self, product: str, ingredients: str) -> CraftTurn:
        counted = _COUNTED.fullmatch(product)
        name = counted["item"] if counted else product
        item = self.world.book.item(name)
        amounts: list[Amount] = []
        for part in ingredients.split(","):
            match = _COUNTED.fullmatch(part.strip())
            number = _number(match["count"]) if match else None
            if match is None or number is None:
                return CraftTurn(f"Wrong item format: {part.strip()[:ECHO]}", valid=False)
            # What has no id is nothing that is carried.
            amounts.append(Amount(self.world.book.item(match["item"]) or "", number))
        needed: dict[str, int] = {}
        for amount in amounts:
            needed[amount.name] = needed.get(amount.name, 0) + amount.count
        if any(self.inventory.get(ingredient, 0) < count for ingredient, count in needed.items()):
            message = f"Could not find enough items to craft {item or name[:ECHO]}"
            return CraftTurn(message, valid=False)
        for recipe in self.world.book.by_product.get(item or "", ()):
            if self._fits(recipe, amounts):
                return self._crafted(recipe, amounts)
        message = f"Could not find a valid recipe for {format_name(item or name)[:ECHO]}"
        return CraftTurn(message, valid=False)

    def _fits(self, recipe: Recipe, amounts: Sequence[Amount]) -> bool:
        """Return whether these are the ingredients of a recipe, in any order."""
        unused = list(amounts)
        for ingredient in recipe.ingredients:
            members = self.world.book.members(ingredient.name)
            fits = (
                amount
                for amount in unused
                if amount.name in members and amount.count == ingredient.count
            )
            if (first_fit := next(fits, None)) is None:
                return False
            unused.remove(first_fit)
        return not unused

    def _crafted(self, recipe: Recipe, amounts: Sequence[Amount]) -> CraftTurn:
        for amount in amounts:
            remaining = self.inventory[amount.name] - amount.count
            if remaining:
                self.inventory[amount.name] = remaining
            else:
                del self.inventory[amount.name]
        item, count = recipe.product.name, recipe.product.count
        self.inventory[item] = self.inventory.get(item, 0) + count
        return CraftTurn(f"Crafted {count} {item}", won=item == self.world.goal)

    def _at_hand(self, recipe: Recipe) -> tuple[Amount, ...] | None:
        """Return carried items that a recipe can be crafted of; None if something is missing."""
        amounts = tuple(self._choose_carried(recipe))
        return amounts if len(amounts) == len(recipe.ingredients) else None

    def _choose_carried(self, recipe: Recipe) -> Iterator[Amount]:
        remaining = dict(self.inventory)
        for ingredient in recipe.ingredients:
            for member in self.world.book.members(ingredient.name):
                if remaining.get(member, 0) >= ingredient.count:
                    remaining[member] -= ingredient.count
                    yield Amount(member, ingredient.count)
                    break


def _number(text: str) -> int | None:
    """Return a count that a command may name; None if it is none."""
    return int(text) if len(text) <= len(str(MOST)) and 1 <= int(text) <= MOST else None
