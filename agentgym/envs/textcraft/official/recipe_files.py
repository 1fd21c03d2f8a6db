"""Read Minecraft's recipe files as the published TextCraft does, into a recipe book and its goals.

Rules: shaped and shapeless recipes are read; of several items for an ingredient, the first is used;
recipes of a single kind of block are skipped; a recipe's ``group`` is a tag of its product; a tag
without craftable items is an item to get; a recipe is skipped if its product is needed for one of
its ingredients. In the original the last rule depends on the order in which the folder lists its
files; here they are read in order of their names. Newer versions of the format are supported, too:
ingredients as text (``#`` begins a tag), and ``id`` in place of ``item``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentgym.envs.textcraft.engine.recipes import NAMESPACE, Amount, Recipe, RecipeBook
from agentgym.errors import DataError
from agentgym.support.strict_json import parse_json

FOLDER = "recipes"
"""Name of the subfolder with the files; Minecraft 1.21 calls it ``recipe``."""
MOST_FILES = 20_000
LARGEST_FILE = 1 << 20
"""Maximum size of a recipe file, in bytes."""
MOST = 999
"""Maximum number of an item in a recipe."""

Named = tuple[str, bool]
"""An ingredient's id, and whether it is a tag."""


def read_book(folder: str | Path) -> RecipeBook:
    """Read the recipes of a folder.

    Args:
        folder: The folder of the recipe files, or its parent.

    Raises:
        DataError: The folder does not exist or has no recipes, or a file is not a recipe.
    """
    book = _Reader(_files(Path(folder).expanduser())).book()
    if not book.by_product:
        raise DataError(
            f"expected shaped or shapeless recipes of Minecraft in {folder}, but there are none; "
            "name the folder that holds recipes/*.json"
        )
    return book


def _files(folder: Path) -> list[Path]:
    """Return the recipe files, in the order of their names."""
    places = [folder / FOLDER, folder / "recipe", folder]
    place = next((candidate for candidate in places if candidate.is_dir()), None)
    paths = [] if place is None else sorted(place.glob("*.json"), key=lambda path: path.name)
    if not paths or len(paths) > MOST_FILES:
        raise DataError(
            f"expected a folder with 1 to {MOST_FILES:,} recipe files (recipes/*.json) of "
            f"Minecraft at {folder}, got {len(paths):,}; name the folder that holds them"
        )
    return paths


class _Reader:
    """Read files into a book.

    Args:
        files: The files, in their order.
    """

    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._recipes: list[Recipe] = []
        self._tags: set[str] = set()
        self._groups: dict[str, str] = {}
        self._below: dict[str, set[str]] = {}
        """Item -> what it is made of, directly or not."""

    def book(self) -> RecipeBook:
        """Return the recipes that are kept."""
        for path in self._files:
            try:
                self._read_file(path)
            except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                raise DataError(
                    f"expected a recipe of Minecraft in {path}, but: {type(error).__name__}: "
                    f"{error!s:.200}; remove the file, or name another folder"
                ) from error
        members: dict[str, list[str]] = {}
        for item, group in self._groups.items():
            members.setdefault(group, []).append(item)
        products = {recipe.product.name for recipe in self._recipes}
        tags = {
            tag: items
            for tag, items in members.items()
            if tag in self._tags and products.intersection(items)
        }
        return RecipeBook(self._recipes, tags)

    def _read_file(self, path: Path) -> None:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError(f"{path.stat().st_size:,} bytes")
        details = parse_json(path.read_text(encoding="utf-8"))
        kind = str(details["type"]).removeprefix(NAMESPACE)
        if kind not in ("crafting_shaped", "crafting_shapeless"):
            return
        named = _shaped(details) if kind == "crafting_shaped" else _shapeless(details)
        counts: dict[str, int] = {}
        for (name, is_tag), count in named:
            counts[name] = counts.get(name, 0) + count
            if is_tag:
                self._tags.add(name)
        ingredients = tuple(Amount(name, count) for name, count in counts.items() if count)
        product = _product(details["result"])
        if not ingredients or any(amount.count > MOST for amount in (product, *ingredients)):
            raise ValueError(f"expected 1 to {MOST} of each item")
        if len(ingredients) == 1 and ingredients[0].name.endswith("_block"):
            return
        group = details.get("group")
        if group and f"{NAMESPACE}{group}" != product.name:
            self._groups[product.name] = f"{NAMESPACE}{group}"
            self._tags.add(f"{NAMESPACE}{group}")
        self._keep(Recipe(product, ingredients))

    def _keep(self, recipe: Recipe) -> None:
        """Keep a recipe, unless its product is needed for one of its ingredients."""
        item, below = recipe.product.name, self._below
        lower_items = below.setdefault(item, set())
        if any(item in below.get(ingredient.name, ()) for ingredient in recipe.ingredients):
            return
        self._recipes.append(recipe)
        for ingredient in recipe.ingredients:
            lower_items |= {ingredient.name, *below.get(ingredient.name, ())}


def _shaped(details: dict[str, Any]) -> Iterator[tuple[Named, int]]:
    pattern = [str(line) for line in details["pattern"]]
    for key, value in details["key"].items():
        yield _named(value), sum(line.count(key) for line in pattern)


def _shapeless(details: dict[str, Any]) -> Iterator[tuple[Named, int]]:
    for value in details["ingredients"]:
        yield _named(value), 1


def _named(value: Any) -> Named:
    """Return what an ingredient names; of several the first."""
    if isinstance(value, list):
        value = value[0]
    if isinstance(value, str):
        return _id(value.removeprefix("#")), value.startswith("#")
    return (_id(value["tag"]), True) if "item" not in value else (_id(value["item"]), False)


def _product(value: Any) -> Amount:
    """Return what comes out."""
    if isinstance(value, str):
        return Amount(_id(value), 1)
    name = value["item"] if "item" in value else value["id"]
    return Amount(_id(name), int(value.get("count", 1)))


def _id(value: Any) -> str:
    """Check an id; one without a namespace is Minecraft's."""
    if not isinstance(value, str) or not value.strip() or len(value) > 200:
        raise ValueError(f"expected the id of an item, got {value!r:.80}")
    return value if ":" in value else f"{NAMESPACE}{value}"


def commands_of(book: RecipeBook, goal: str) -> tuple[Recipe, ...]:
    """Return the recipes on all paths to a goal, each once.

    Args:
        book: The recipes.
        goal: A craftable item.
    """
    visited: dict[str, None] = {}
    recipes: dict[str, Recipe] = {}
    queue = [goal]
    while queue:
        name = queue.pop()
        if name in visited:
            continue
        visited[name] = None
        for item in book.members(name):
            for recipe in book.by_product.get(item, ()):
                recipes.setdefault(str(recipe), recipe)
                queue.extend(ingredient.name for ingredient in recipe.ingredients)
    return tuple(recipes.values())
