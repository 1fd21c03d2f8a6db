"""Configurations of the shop, and one shared shop per configuration and process."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from agentgym.core.options import choice, flag, integer
from agentgym.core.tasks import Task, TaskSet
from agentgym.envs.webshop.engine.goals import ShopGoal, official_goals, solvable_goals
from agentgym.envs.webshop.engine.nouns import BUILTIN, NounSource, cache_key, freeze, nouns_of
from agentgym.envs.webshop.engine.product_storage import open_or_build
from agentgym.envs.webshop.engine.products import Instruction
from agentgym.envs.webshop.engine.reward import REWARDS
from agentgym.envs.webshop.engine.shop import HITS, Shop
from agentgym.envs.webshop.experts import EXPERTS, FALLIBLE
from agentgym.envs.webshop.experts.base import Expert
from agentgym.envs.webshop.generator import GeneratedShop, GeneratorConfig, generate
from agentgym.envs.webshop.generator.drafts import GENERATOR_VERSION
from agentgym.envs.webshop.generator.generated_shop import MAX_SIZE, MIN_SIZE
from agentgym.envs.webshop.official.files import locate, read_human, read_instructions, read_items
from agentgym.envs.webshop.tasks import (
    GOALS_PER_PRODUCT,
    SPLIT_MODES,
    generated_tasks,
    listed_tasks,
)
from agentgym.errors import ConfigurationError
from agentgym.support.caching import BoundedCache

GOAL_MODES = ("generated", "official")
OBSERVATION_MODES = ("text", "text_rich", "compact")
OFFICIAL_PAGE = 10
COMPACT_PAGE = 4
CACHED_GOALS = 8192


@dataclass(frozen=True)
class ShopConfig:
    """The settings that determine products, goals and splits."""

    size: int = 1000
    """Products of a generated shop."""
    difficulty: str | GeneratorConfig = "medium"
    """Difficulty of a generated shop."""
    seed: int = 0
    """Seed of a generated shop, and of goals made for official data."""
    data: str | os.PathLike[str] | None = None
    """Folder with the official files; None generates a shop."""
    num_products: int | None = None
    """Number of products to read from the official files."""
    goal_mode: str = "generated"
    """``generated``: a few solvable goals per product. ``official``: the original's goals."""
    human_goals: bool = False
    """Use the goals written by people (official files only)."""
    goals_per_product: int = GOALS_PER_PRODUCT
    """Maximum number of goals per product in goal mode ``generated``."""
    split_mode: str = "product"
    """``product``: disjoint products. ``official-index``: ranges of the original's order."""
    nouns: NounSource | None = None
    """Noun extractor, or a table of nouns, which is compared and hashed by content; None uses the
    generator's nouns, or ``builtin`` for official files."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: Two fields contradict each other, or one is of the wrong type or out
                of range.
            DataError: The file of nouns cannot be read.
        """
        checked = {
            "size": integer(self.size, "size", MIN_SIZE, MAX_SIZE),
            "difficulty": GeneratorConfig.of(self.difficulty),
            "seed": integer(self.seed, "generator_seed", 0, None),
            "data": _folder(self.data),
            "nouns": freeze(self.nouns),
            "goals_per_product": integer(self.goals_per_product, "goals_per_product", 1, None),
        }
        if self.num_products is not None:
            checked["num_products"] = integer(self.num_products, "num_products", 1, None)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        choice(self.goal_mode, "goal_mode", GOAL_MODES)
        choice(self.split_mode, "split_mode", SPLIT_MODES)
        flag(self.human_goals, "human_goals")
        if self.num_products is not None and self.data is None:
            raise ConfigurationError(
                "expected data= with num_products, which reads the first of the official "
                f"products; got num_products={self.num_products!r}; use size for generated ones"
            )
        if self.split_mode == "official-index" and self.goal_mode != "official":
            raise ConfigurationError(
                "expected goal_mode='official' with split_mode='official-index', got "
                f"goal_mode={self.goal_mode!r}"
            )
        if self.human_goals and (self.data is None or self.goal_mode != "official"):
            raise ConfigurationError(
                "expected data= and goal_mode='official' with human_goals=True, got "
                f"data={self.data!r} and goal_mode={self.goal_mode!r}"
            )

    @property
    def nouns_key(self) -> str | None:
        """The value that identifies the nouns in keys."""
        return cache_key(freeze(self.nouns))

    def task_key(self, base: str) -> str:
        """Name the task set: ``base``, and a word for each setting that is not the default.

        Task ids are numbers, so the name contains the settings that determine their meaning.
        """
        words = [base]
        if self.goal_mode == "official":
            words.append("human" if self.human_goals else "synthetic")
            words += ["index"] * (self.split_mode == "official-index")
            return "-".join(words)
        if self.goals_per_product != GOALS_PER_PRODUCT:
            words.append(f"{self.goals_per_product}goals")
        if self.data is not None:
            words += [f"seed{self.seed}"] * (self.seed > 0)
            nouns = self.nouns_key  # they decide which goals are solvable
            words += [] if nouns is None else [hashlib.sha256(nouns.encode()).hexdigest()[:8]]
        return "-".join(words)


@dataclass(frozen=True)
class VisitConfig:
    """The settings of a visit that an expert's plans depend on."""

    page_size: int = OFFICIAL_PAGE
    """Products on a results page."""
    expert: str = "oracle"
    """``oracle`` knows the right product, ``careful`` uses only what a shopper can read;
    ``thinking`` acts as ``careful`` and writes its comparisons; ``hasty`` never checks product
    pages, ``hurried`` alternates between the two."""
    highlights: bool = False
    """Whether lines of results show the highlights of products."""
    reward: str = "official"
    """Reward mode by which an expert judges products."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: There is no such expert, or a field is of the wrong type.
        """
        choice(self.expert, "expert", EXPERTS)
        flag(self.highlights, "highlights")
        choice(self.reward, "reward", REWARDS)

    def expert_for(self, shop: Shop) -> Expert:
        """Return the expert of a shop."""
        return EXPERTS[self.expert](shop, self.highlights, self.reward)

    def experts_for(self, shop: Shop) -> tuple[Expert, Expert]:
        """Return the demonstrator of a shop, and the solver."""
        return self.expert_for(shop), replace(self, expert="oracle").expert_for(shop)


@dataclass
class SharedShop:
    """A shop with its tasks and its expert, shared by the environments of a process."""

    shop: Shop
    """The shop."""
    tasks: TaskSet
    """Its goals as tasks."""
    expert: Expert
    """The demonstrator."""
    oracle: Expert
    """The solver, which knows the right product."""
    config: ShopConfig | None = None
    """Source of the shop; None if the user passed shop and tasks."""
    _goals: BoundedCache[str, ShopGoal] = field(default_factory=lambda: BoundedCache(CACHED_GOALS))

    @classmethod
    def of(cls, shop: Shop | None, tasks: TaskSet | None, visit: VisitConfig) -> SharedShop:
        """Combine a shop and a task set of the user.

        Raises:
            ConfigurationError: One of them is missing or of the wrong type.
        """
        if shop is None or tasks is None:
            raise ConfigurationError(
                "expected world and tasks together, or neither of them; got "
                f"world={shop!r:.40}, tasks={tasks!r:.40}"
            )
        for name, value, kind in (("world", shop, Shop), ("tasks", tasks, TaskSet)):
            if not isinstance(value, kind):
                raise ConfigurationError(
                    f"expected {name} to be a {kind.__name__}, got {type(value).__name__}: "
                    f"{value!r:.80}"
                )
        return cls(shop, tasks, *visit.experts_for(shop))

    def goal(self, task: Task) -> ShopGoal:
        """Return the goal of a task."""
        goal = self._goals.get(task.id)
        if goal is None:
            goal = self._goals.put(task.id, ShopGoal.from_content(task.content))
        return goal

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedShop:
        """Share the shop between copies of an environment."""
        return self


_lock = threading.RLock()
_shops: dict[ShopConfig, Shop] = {}
_shared: dict[tuple[ShopConfig, VisitConfig], SharedShop] = {}


def open_shop(config: ShopConfig, visit: VisitConfig) -> SharedShop:
    """Return this process's shop of a configuration, made on first use.

    Raises:
        ConfigurationError: The configuration cannot be satisfied.
        DataError: The official files are missing or damaged.
    """
    with _lock:
        shared = _shared.get((config, visit))
        if shared is None:
            shared = _shared[config, visit] = _make(config, visit)
        return shared


def page_size(mode: str, size: int | None) -> int:
    """Return the number of products on a results page; ``size`` None is the mode's default.

    Raises:
        ConfigurationError: The observation mode does not allow the size.
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
    return integer(size, "results_per_page", 1, HITS)


def _make(config: ShopConfig, visit: VisitConfig) -> SharedShop:
    generated = None
    if config.data is None:
        generated = generate(config.size, config.difficulty, config.seed)
    shop = _shops.get(config)
    if shop is None:
        shop = _from_files(config) if generated is None else _from_generator(config, generated)
        _shops[config] = shop
    # A task's length is that of a plan that solves it, whichever expert demonstrates.
    solver = replace(visit, expert=FALLIBLE.get(visit.expert, visit.expert)).expert_for(shop)
    plan_length = partial(solver.turns, page_size=visit.page_size)
    base = f"official-{len(shop.products)}" if generated is None else generated.key
    key = config.task_key(base)
    if generated is not None and config.goal_mode == "generated":
        tasks = generated_tasks(generated, config.goals_per_product, plan_length, key)
    else:
        tasks = listed_tasks(key, shop.goals, config.split_mode, plan_length, old_key=base)
    return SharedShop(shop, tasks, *visit.experts_for(shop), config)


def _from_generator(config: ShopConfig, generated: GeneratedShop) -> Shop:
    """Open or build a generated shop."""
    key = ["generated", GENERATOR_VERSION, repr(generated.config), generated.size, generated.seed,
           config.goal_mode, config.nouns_key]  # fmt: skip

    def build() -> Shop:
        def extract_nouns(item: Mapping[str, Any]) -> tuple[str, ...]:
            return generated.nouns(generated.index(item["asin"]))

        source = freeze(config.nouns)
        nouns = extract_nouns if source is None else nouns_of(source)
        # Its goals are not stored: they are regenerated on demand.
        is_generated = config.goal_mode == "generated"
        goals = None if is_generated else official_goals(generated.instructions, None)
        return Shop.build(generated.items, generated.instructions, nouns, goals=goals)

    return open_or_build(Shop, key, build)


def _from_files(config: ShopConfig) -> Shop:
    """Open or build the shop of the official files."""
    assert config.data is not None
    files = locate(config.data, config.num_products)
    key = ["files", files.key(), config.num_products, config.goal_mode, config.human_goals,
           config.goals_per_product, config.seed, config.nouns_key]  # fmt: skip

    def build() -> Shop:
        items = read_items(files, config.num_products)
        instructions = read_instructions(files)
        nouns = nouns_of(freeze(config.nouns) or BUILTIN)
        goals = None
        if config.goal_mode == "official":
            human = read_human(files) if config.human_goals else None
            goals = official_goals(instructions, human, files.origins)
        shop = Shop.build(items, instructions, nouns, goals=goals, origins=files.origins)
        if goals is None:
            shop.goals = _few_goals(shop, instructions, config)
        return shop

    return open_or_build(Shop, key, build)


def _few_goals(shop: Shop, instructions: Mapping[str, Any], config: ShopConfig) -> list[ShopGoal]:
    """Make at most ``goals_per_product`` solvable goals of each product."""
    goals: list[ShopGoal] = []
    for item in shop.products.values():
        entry = Instruction.parse(instructions.get(item.asin))
        goals += solvable_goals(
            item, entry, seed=config.seed, limit=config.goals_per_product, solvable=shop.solvable
        )
    return goals


def _folder(path: Any) -> str | None:
    """Return a folder's path as text, ``~`` resolved."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise ConfigurationError(
            f"expected data= to be the path of the official files' folder, got {path!r:.80}"
        )
    return os.path.expanduser(os.fspath(path))
