"""Seeded worlds: a tree of recipes that leads to a goal, and distractors.

Each item has a name of two words. The positions of the words in the lists determine the split that
may use a pair, so no name of one split occurs in another, though every word occurs in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from agentgym.envs.textcraft.engine.recipes import Amount, CraftWorld, Recipe, RecipeBook
from agentgym.envs.textcraft.experts.oracle import shortest_plan
from agentgym.envs.textcraft.generator.config import GeneratorConfig
from agentgym.envs.textcraft.generator.words import MATERIALS, NOUNS
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream

GENERATOR_VERSION = 1
"""Raise it when a seed gives another world."""
SHARES = {"train": range(8), "valid": range(8, 9), "test": range(9, 10)}
"""The tenths of the names that a split may use."""
ATTEMPTS = 400
"""Maximum number of draws for a plan of the configured length."""
BROAD = 20
"""Number of recipes, except distractors, after which further ingredients need no crafting: a deep
tree that branches everywhere would need more names than exist."""


def generate(config: GeneratorConfig, split: str, number: int, seed: int = 0) -> CraftWorld:
    """Make a world; equal arguments give equal worlds on every machine.

    Args:
        config: The settings.
        split: Name of the split.
        number: Number of the world in its split.
        seed: Selects a set of worlds.

    Raises:
        ConfigurationError: No world has a plan of the configured length.
    """
    for attempt in range(ATTEMPTS):
        key = ("textcraft", GENERATOR_VERSION, config.key, seed, split, number, attempt)
        world = _Builder(config, split, Stream(*key)).world()
        plan = shortest_plan(world, {})
        turns: Any = config.turns
        if plan is not None and (turns is None or turns[0] <= len(plan) <= turns[1]):
            return world
    raise ConfigurationError(
        f"expected settings that allow plans of {config.turns} turns, but none of "
        f"{ATTEMPTS} worlds with depth={config.depth} and ingredients={config.ingredients} has "
        "one; widen turns or set it to None"
    )


@cache
def names_of(split: str) -> tuple[str, ...]:
    """Return the names that a split may use."""
    return tuple(
        f"{material} {noun}"
        for m, material in enumerate(MATERIALS)
        for t, noun in enumerate(NOUNS)
        if (m + t) % 10 in SHARES[split]
    )


class _Builder:
    """Draw one world.

    Args:
        config: The settings.
        split: Name of the split.
        stream: What decides all draws.
    """

    def __init__(self, config: GeneratorConfig, split: str, stream: Stream) -> None:
        self._config, self._stream = config, stream
        self._names = self._unused(names_of(split))
        self._recipes: list[Recipe] = []
        self._depths: dict[str, int] = {}

    def world(self) -> CraftWorld:
        """Return a goal with its recipes, and distractors."""
        goal = self._new(self._drawn("depth"))
        needed = [name for name in self._depths if name != goal]
        for _ in range(self._drawn("distractors")):
            self._distract(needed)
        commands = tuple(self._stream.shuffled(self._recipes))
        return CraftWorld(RecipeBook(self._recipes), goal, commands)

    # -- parts ----------------------------------------------------------------------------------

    def _unused(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yield names in random order, none twice."""
        used: set[str] = set()
        while len(used) < len(names):
            name = self._stream.choice(names)
            if name not in used:
                used.add(name)
                yield name

    def _drawn(self, name: str) -> int:
        low, high = getattr(self._config, name)
        return self._stream.between(low, high)

    def _new(self, depth: int) -> str:
        """Make a thing of this depth, with what it is made of; return its name."""
        name = next(self._names)
        self._depths[name] = depth
        if depth:
            second = self._stream.percent(self._config.alternatives) and not self._is_broad()
            for _ in range(2 if second else 1):
                self._recipes.append(self._recipe(name, depth))
        return name

    def _recipe(self, product: str, depth: int) -> Recipe:
        """Return a recipe whose first ingredient is as deep as it may be."""
        depths = [depth - 1]
        for _ in range(self._drawn("ingredients") - 1):
            crafted = self._stream.percent(self._config.crafted)
            depths.append(self._stream.below(depth) if crafted else 0)
        ingredients: list[str] = []
        for ingredient_depth in depths:
            ingredients.append(
                self._take_item(
                    0 if ingredients and self._is_broad() else ingredient_depth, ingredients
                )
            )
        return self._of(product, ingredients)

    def _is_broad(self) -> bool:
        """Return whether there are so many recipes that no more of them should branch."""
        return len(self._recipes) >= BROAD

    def _take_item(self, depth: int, but: list[str]) -> str:
        """Return a thing of this depth, one that there is already or a new one."""
        existing = [name for name, its in self._depths.items() if its == depth and name not in but]
        if existing and self._stream.percent(self._config.shared):
            return self._stream.choice(existing)
        return self._new(depth)

    def _of(self, product: str, ingredients: list[str]) -> Recipe:
        """Return a recipe of these ingredients, in random order."""
        amounts = [
            Amount(name, self._drawn("counts")) for name in self._stream.shuffled(ingredients)
        ]
        return Recipe(Amount(product, self._drawn("yields")), tuple(amounts))

    def _distract(self, needed: list[str]) -> None:
        """Add a recipe of a thing that the goal does not need."""
        ingredients: list[str] = []
        for _ in range(self._drawn("ingredients")):
            unneeded = [name for name in needed if name not in ingredients]
            borrowed = unneeded and self._stream.percent(self._config.borrowed)
            ingredients.append(self._stream.choice(unneeded) if borrowed else next(self._names))
        self._recipes.append(self._of(next(self._names), ingredients))
