"""Configurations of the shop, and what one process shares for each of them."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agentgym.caching import BoundedCache
from agentgym.envs.webshop.cache import cached
from agentgym.envs.webshop.checks import choice, flag, whole
from agentgym.envs.webshop.engine.goals import Goal, generated_goals
from agentgym.envs.webshop.engine.index import HITS, World, official_goals
from agentgym.envs.webshop.engine.nouns import BUILTIN, NounSource, cache_key, freeze, of_item
from agentgym.envs.webshop.engine.products import Instruction, Product
from agentgym.envs.webshop.engine.reward import MODES
from agentgym.envs.webshop.experts.careful import CarefulExpert
from agentgym.envs.webshop.experts.oracle import Expert
from agentgym.envs.webshop.generator import (
    MAX_SIZE,
    MIN_SIZE,
    Catalogue,
    Difficulty,
    difficulty,
    generate,
)
from agentgym.envs.webshop.generator import VERSION as GENERATOR
from agentgym.envs.webshop.official import files as official
from agentgym.envs.webshop.tasks import (
    GOALS_PER_PRODUCT,
    SPLIT_MODES,
    generated_tasks,
    listed_tasks,
)
from agentgym.errors import ConfigurationError
from agentgym.tasks import Task, TaskSet

GOAL_MODES = ("generated", "official")
EXPERTS = ("target", "careful", "thinking")
OBSERVATION_MODES = ("text", "text_rich", "compact")
OFFICIAL_PAGE = 10
COMPACT_PAGE = 4
CACHED_GOALS = 8192


@dataclass(frozen=True)
class ShopConfig:
    """Everything that decides products, goals and splits."""

    size: int = 1000
    """Products of a generated catalogue."""
    difficulty: str | Difficulty = "medium"
    """Difficulty of a generated catalogue."""
    seed: int = 0
    """Seed of a generated catalogue, and of goals made for official data."""
    data_dir: str | os.PathLike[str] | None = None
    """Folder with the official files; None generates a catalogue."""
    num_products: int | None = None
    """Read only this many products of the official files."""
    goal_mode: str = "generated"
    """``generated``: a few solvable goals per product. ``official``: those of the original."""
    human_goals: bool = False
    """Take the goals that people wrote (official files only)."""
    goals_per_product: int = GOALS_PER_PRODUCT
    """Most goals per product in goal mode ``generated``."""
    split_mode: str = "product"
    """``product``: disjoint products. ``official-index``: ranges of the original's order."""
    nouns: NounSource | None = None
    """Noun extractor, or a table of nouns, which is compared and hashed by its content; None takes
    the generator's knowledge, or ``builtin`` for official files."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: Two fields contradict each other, or one is of the wrong type or out
                of range.
            DataError: The file of nouns cannot be read.
        """
        checked = {
            "size": whole("size", self.size, MIN_SIZE, MAX_SIZE),
            "difficulty": difficulty(self.difficulty),
            "seed": whole("catalogue_seed", self.seed, 0),
            "data_dir": _folder(self.data_dir),
            "nouns": freeze(self.nouns),
            "goals_per_product": whole("goals_per_product", self.goals_per_product, 1),
        }
        if self.num_products is not None:
            checked["num_products"] = whole("num_products", self.num_products, 1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        choice("goal_mode", self.goal_mode, GOAL_MODES)
        choice("split_mode", self.split_mode, SPLIT_MODES)
        flag("human_goals", self.human_goals)
        if self.num_products is not None and self.data_dir is None:
            raise ConfigurationError(
                "expected data_dir with num_products, which reads the first of the official "
                f"products; got num_products={self.num_products!r}; use size for generated ones"
            )
        if self.split_mode == "official-index" and self.goal_mode != "official":
            raise ConfigurationError(
                "expected goal_mode='official' with split_mode='official-index', got "
                f"goal_mode={self.goal_mode!r}"
            )
        if self.human_goals and (self.data_dir is None or self.goal_mode != "official"):
            raise ConfigurationError(
                "expected data_dir and goal_mode='official' with human_goals=True, got "
                f"data_dir={self.data_dir!r} and goal_mode={self.goal_mode!r}"
            )

    def task_key(self, base: str) -> str:
        """Name the task set: ids are numbers, so what decides their meaning is part of the name.

        Args:
            base: Name of the catalogue.

        Returns:
            The name, with a word for each setting that is not the default.
        """
        words = [base]
        if self.goal_mode == "official":
            words.append("human" if self.human_goals else "synthetic")
            words += ["index"] * (self.split_mode == "official-index")
            return "-".join(words)
        if self.goals_per_product != GOALS_PER_PRODUCT:
            words.append(f"{self.goals_per_product}goals")
        if self.data_dir is not None:
            words += [f"seed{self.seed}"] * (self.seed > 0)
            nouns = cache_key(freeze(self.nouns))  # they decide which goals are solvable
            words += [] if nouns is None else [hashlib.sha256(nouns.encode()).hexdigest()[:8]]
        return "-".join(words)


@dataclass(frozen=True)
class View:
    """How a shop is looked at, as far as the expert's plans depend on it."""

    page_size: int = 10
    """Products on a results page."""
    expert: str = "target"
    """``target`` knows the right product, ``careful`` only what a shopper can read; ``thinking``
    does as ``careful`` and says what it compares."""
    highlights: bool = False
    """Whether results lines show the highlights of products."""
    reward: str = "official"
    """Reward mode by which an expert judges what it finds."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: There is no such expert, or a field is of the wrong type.
        """
        choice("expert", self.expert, EXPERTS)
        flag("highlights", self.highlights)
        choice("reward", self.reward, MODES)

    def expert_for(self, world: World) -> Expert:
        """Return the expert of a world."""
        if self.expert != "target":
            return CarefulExpert(world, self.highlights, self.reward)
        return Expert(world)


@dataclass
class Shop:
    """A world with its tasks and its expert, shared by the environments of a process."""

    world: World
    """The shop."""
    tasks: TaskSet
    """Its goals as tasks."""
    expert: Expert
    """Plans."""
    config: ShopConfig | None = None
    """Where it came from; None if world and tasks were given."""
    _goals: BoundedCache[str, Goal] = field(default_factory=lambda: BoundedCache(CACHED_GOALS))

    def goal(self, task: Task) -> Goal:
        """Return the goal of a task."""
        found = self._goals.get(task.id)
        if found is None:
            found = self._goals.put(task.id, Goal.from_content(task.content))
        return found

    @classmethod
    def of(cls, world: World, tasks: TaskSet, view: View) -> Shop:
        """Put a given world and task set together."""
        return cls(world, tasks, view.expert_for(world))

    def __deepcopy__(self, memo: dict[int, Any]) -> Shop:
        """Copies of an environment share the shop."""
        return self


_lock = threading.RLock()
_worlds: dict[ShopConfig, World] = {}
_shops: dict[tuple[ShopConfig, View], Shop] = {}


def open_shop(config: ShopConfig, view: View) -> Shop:
    """Return this process's shop of a configuration, made on first use.

    Args:
        config: The configuration.
        view: How it is looked at, which decides the expert's plans.

    Returns:
        The shop.

    Raises:
        ConfigurationError: The configuration cannot be met.
        DataError: The official files are missing or damaged.
    """
    with _lock:
        shop = _shops.get((config, view))
        if shop is None:
            shop = _shops[config, view] = _make(config, view)
        return shop


def page_size(mode: str, size: int | None) -> int:
    """Return the number of products on a results page.

    Args:
        mode: Observation mode.
        size: What the user asked for; None is the default of the mode.

    Raises:
        ConfigurationError: The mode does not allow the size.
    """
    if mode != "compact":
        if size not in (None, OFFICIAL_PAGE):
            raise ConfigurationError(
                f"expected results_per_page to be left out in observation mode {mode!r}, which "
                f"shows {OFFICIAL_PAGE} as the original does; got {size!r}; use 'compact'"
            )
        return OFFICIAL_PAGE
    if size is None:
        return COMPACT_PAGE
    return whole("results_per_page", size, 1, HITS)


def _make(config: ShopConfig, view: View) -> Shop:
    catalogue = None
    if config.data_dir is None:
        catalogue = generate(config.size, config.difficulty, config.seed)
    world = _worlds.get(config)
    if world is None:
        world = _generated(config, catalogue) if catalogue else _from_files(config)
        _worlds[config] = world
    expert = view.expert_for(world)
    plan_length = partial(expert.turns, page_size=view.page_size)
    if catalogue is not None and config.goal_mode == "generated":
        tasks = generated_tasks(
            catalogue, config.goals_per_product, plan_length, config.task_key(catalogue.key)
        )
    else:
        base = catalogue.key if catalogue else f"official-{len(world.products)}"
        key = config.task_key(base)
        tasks = listed_tasks(key, world.goals, config.split_mode, plan_length, old_key=base)
    return Shop(world, tasks, expert, config)


def _generated(config: ShopConfig, catalogue: Catalogue) -> World:
    """Open or build the world of a generated catalogue."""
    own = config.goal_mode == "generated"
    key = ["generated", GENERATOR, repr(catalogue.difficulty), catalogue.size, catalogue.seed,
           config.goal_mode, cache_key(freeze(config.nouns))]  # fmt: skip

    def build() -> World:
        def known(item: Mapping[str, Any]) -> Sequence[str]:
            return catalogue.nouns(catalogue.index(item["asin"]))

        given = freeze(config.nouns)
        nouns = known if given is None else of_item(given)
        goals = () if own else official_goals(catalogue.ins, None)
        return World.build(catalogue.items, catalogue.ins, nouns, goals=goals)

    return cached(key, build)


def _from_files(config: ShopConfig) -> World:
    """Open or build the world of the official files."""
    assert config.data_dir is not None
    files = official.locate(config.data_dir, config.num_products)
    key = ["files", files.key(), config.num_products, config.goal_mode, config.human_goals,
           config.goals_per_product, config.seed, cache_key(freeze(config.nouns))]  # fmt: skip

    def build() -> World:
        items = official.read_items(files, config.num_products)
        instructions = official.read_instructions(files)
        nouns = of_item(freeze(config.nouns) or BUILTIN)
        if config.goal_mode == "official":
            human = official.read_human(files) if config.human_goals else None
            goals = official_goals(instructions, human, files.origins)
            return World.build(items, instructions, nouns, goals=goals, origins=files.origins)
        world = World.build(items, instructions, nouns, origins=files.origins)
        return world.with_goals(_few_goals(world, instructions, config))

    return cached(key, build)


def _few_goals(world: World, instructions: Mapping[str, Any], config: ShopConfig) -> list[Goal]:
    """Make at most ``goals_per_product`` solvable goals of each product."""
    goals: list[Goal] = []
    products: Sequence[Product] = world.products.items
    for item in products:
        entry = Instruction.parse(instructions.get(item.asin))
        goals += generated_goals(
            item, entry, seed=config.seed, limit=config.goals_per_product, solvable=world.solvable
        )
    return goals


def _folder(path: Any) -> str | None:
    """Return a folder's path as text, ``~`` resolved."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ConfigurationError(
            f"expected data_dir to be the path of the official files' folder, got {path!r:.80}"
        )
    return os.path.expanduser(os.fspath(path))
