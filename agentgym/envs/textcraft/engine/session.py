"""One episode: commands in, text out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agentgym.envs.textcraft.engine.recipes import Amount, Recipe, World, shown

MOST = 9999
"""Maximum number of an item in a command."""
ECHO = 200
"""Maximum number of characters of a command that a reply repeats."""
_CRAFT = re.compile(r"craft (?P<product>.+?) using (?P<ingredients>.+)")
_GET = re.compile(r"get (?P<count>[0-9]+) (?P<item>.+)")
_RECIPE = re.compile(r"recipe (?P<item>.+)")
_COUNTED = re.compile(r"(?P<count>[0-9]+) (?P<item>.+)")


class Answer(NamedTuple):
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

    def __init__(self, world: World, look_up: bool = False) -> None:
        self.world = world
        self._look_up = look_up
        self.inventory: dict[str, int] = {}

    def step(self, command: str) -> Answer:
        """Execute a command; any text is accepted."""
        text = " ".join(command.split())
        if text == "inventory":
            return Answer(self._listed())
        if got := _GET.fullmatch(text):
            return self._get(got["count"], got["item"])
        if crafted := _CRAFT.fullmatch(text):
            return self._craft(crafted["product"], crafted["ingredients"])
        if self._look_up and (asked := _RECIPE.fullmatch(text)):
            return self._recipes(asked["item"])
        return Answer(f"Could not execute {text[:ECHO]}", valid=False)

    def admissible(self) -> list[str]:
        """Return the commands that have an effect here and that the recipes of the task name.

        ``get`` is listed with the amounts that some recipe requires.
        """
        found = self.world.book.found
        needed = {
            Amount(member, each.count): None
            for recipe in self.world.commands
            for each in recipe.ingredients
            for member in self.world.book.members(each.name)
            if member in found
        }
        gets = [f"get {amount}" for amount in needed]
        crafts = [
            recipe.using(chosen)
            for recipe in self.world.commands
            if (chosen := self._at_hand(recipe)) is not None
        ]
        made = [shown(recipe.product.name) for recipe in self.world.commands if self._look_up]
        asked = [f"recipe {name}" for name in dict.fromkeys(made)]
        return [*gets, *dict.fromkeys(crafts), *asked, "inventory"]

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
        return "Inventory: " + " ".join(f"[{shown(i)}] ({n})" for i, n in self.inventory.items())

    def _recipes(self, name: str) -> Answer:
        item = self.world.book.item(name)
        listed = [str(each) for each in self.world.commands if each.product.name == item]
        if listed:
            return Answer("\n".join(listed))
        return Answer(f"Could not find a recipe for {name[:ECHO]}", valid=False)

    def _get(self, count: str, name: str) -> Answer:
        item = self.world.book.item(name)
        if item is None or item not in self.world.book.found:
            return Answer(f"Could not find {name[:ECHO]}", valid=False)
        number = _number(count)
        if number is None:
            return Answer(f"Could not get so many: expected a number from 1 to {MOST}", valid=False)
        self.inventory[item] = self.inventory.get(item, 0) + number
        return Answer(f"Got {number} {name}")

    def _craft(self, product: str, ingredients: str) -> Answer:
        counted = _COUNTED.fullmatch(product)
        name = counted["item"] if counted else product
        item = self.world.book.item(name)
        given: list[Amount] = []
        for part in ingredients.split(","):
            found = _COUNTED.fullmatch(part.strip())
            number = _number(found["count"]) if found else None
            if found is None or number is None:
                return Answer(f"Wrong item format: {part.strip()[:ECHO]}", valid=False)
            # What has no id is nothing that is carried.
            given.append(Amount(self.world.book.item(found["item"]) or "", number))
        needed: dict[str, int] = {}
        for each in given:
            needed[each.name] = needed.get(each.name, 0) + each.count
        if any(self.inventory.get(each, 0) < count for each, count in needed.items()):
            told = f"Could not find enough items to craft {item or name[:ECHO]}"
            return Answer(told, valid=False)
        for recipe in self.world.book.by_product.get(item or "", ()):
            if self._fits(recipe, given):
                return self._crafted(recipe, given)
        told = f"Could not find a valid recipe for {shown(item or name)[:ECHO]}"
        return Answer(told, valid=False)

    def _fits(self, recipe: Recipe, given: Sequence[Amount]) -> bool:
        """Return whether these are the ingredients of a recipe, in any order."""
        left = list(given)
        for each in recipe.ingredients:
            members = self.world.book.members(each.name)
            fits = (one for one in left if one.name in members and one.count == each.count)
            if (found := next(fits, None)) is None:
                return False
            left.remove(found)
        return not left

    def _crafted(self, recipe: Recipe, given: Sequence[Amount]) -> Answer:
        for each in given:
            left = self.inventory[each.name] - each.count
            if left:
                self.inventory[each.name] = left
            else:
                del self.inventory[each.name]
        item, count = recipe.product.name, recipe.product.count
        self.inventory[item] = self.inventory.get(item, 0) + count
        return Answer(f"Crafted {count} {item}", won=item == self.world.goal)

    def _at_hand(self, recipe: Recipe) -> tuple[Amount, ...] | None:
        """Return carried items that a recipe can be crafted of; None if something is missing."""
        chosen = tuple(self._chosen(recipe))
        return chosen if len(chosen) == len(recipe.ingredients) else None

    def _chosen(self, recipe: Recipe) -> Iterator[Amount]:
        left = dict(self.inventory)
        for each in recipe.ingredients:
            for member in self.world.book.members(each.name):
                if left.get(member, 0) >= each.count:
                    left[member] -= each.count
                    yield Amount(member, each.count)
                    break


def _number(text: str) -> int | None:
    """Return a count that a command may name; None if it is none."""
    return int(text) if len(text) <= len(str(MOST)) and 1 <= int(text) <= MOST else None
