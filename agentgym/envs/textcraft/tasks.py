"""The tasks of TextCraft: generated worlds, or goals among Minecraft's recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.core.options import integer
from agentgym.core.row_splits import SplitRow, by_split
from agentgym.core.tasks import SPLITS, NumberedTasks
from agentgym.envs.textcraft.engine.recipes import CraftWorld, Recipe, format_name
from agentgym.envs.textcraft.experts.oracle import shortest_plan
from agentgym.envs.textcraft.generator import GeneratorConfig, generate
from agentgym.envs.textcraft.official.recipe_files import commands_of, read_book
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream

SIZES: Mapping[str, int] = {"train": 10_000, "valid": 500, "test": 500}
"""Number of generated tasks of each split."""
USES = 10
"""Maximum number of other recipes of an ingredient that can be distractors, as published."""
DISTRACTORS = 10
"""Maximum number of distractors among published recipes, as published."""
DEALT = {"train": range(80), "valid": range(80, 90), "test": range(90, 100)}
"""Percentage of the published goals in each split."""


class CraftTasks(NumberedTasks[CraftWorld]):
    """Tasks with worlds as problems.

    Args:
        name: Name of the set.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, plan_length=plan_length)

    def _describe(
        self, split: str, number: int, problem: CraftWorld
    ) -> tuple[str, Mapping[str, Any]]:
        content = {
            "task_type": f"depth {problem.depth}",
            "commands": [str(recipe) for recipe in problem.commands],
        }
        return f"Craft {format_name(problem.goal)}.", content


def plan_length(world: CraftWorld) -> int | None:
    """Return the turns of the shortest plan."""
    plan = shortest_plan(world, {})
    return None if plan is None else len(plan)


class GeneratedTasks(CraftTasks):
    """Generated worlds: 10,000 for training, 500 each for validation and test.

    No item name occurs in two splits. Ids have the form ``textcraft/<config>/<split>/<number>``.

    Args:
        config: The settings.
        seed: Selects a set of worlds.
    """

    remedy = "make the environment with the settings and the seed that the id names"

    def __init__(self, config: GeneratorConfig, seed: int = 0) -> None:
        self.config, self.seed = config, seed
        super().__init__(f"textcraft/{config.key}" + (f"-{seed}" if seed else ""))

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def _problem(self, split: str, number: int) -> CraftWorld:
        return generate(self.config, split, number, self.seed)


class OfficialTasks(CraftTasks):
    """Every item that Minecraft's recipes can make as a goal, by depth and then by name.

    A hash of its id assigns a goal to a split, so that the splits are the same on every machine;
    if there are too few goals, :mod:`agentgym.core.row_splits` assigns them.

    Args:
        folder: The folder of the recipes.
        distractors: Maximum number of distractors of a task.
        seed: Selects the distractors.

    Raises:
        DataError: There are no recipes, or a file is damaged.
    """

    remedy = "make the environment with the recipes that the id is of"

    def __init__(self, folder: str | Path, distractors: int = DISTRACTORS, seed: int = 0) -> None:
        self.book = read_book(folder)
        self._distractors, self._seed = distractors, seed
        super().__init__("textcraft/official" + (f"-{seed}" if seed else ""))
        goals = sorted(
            (name for name in self.book.by_product if name in self.book.turns),
            key=lambda name: (self.book.depths[name], name),
        )
        self._goals: Mapping[str, Sequence[str]] = {
            split: [name for name in goals if Stream("deal", name).below(100) in part]
            for split, part in DEALT.items()
        }
        if not all(self._goals.values()):  # a few recipes of one's own
            self._goals = by_split(goals, [SplitRow(name, None) for name in goals])
        self.splits = tuple(split for split in SPLITS if self._goals.get(split))
        self._uses: dict[str, list[Recipe]] = {}
        for recipes in self.book.by_product.values():
            for recipe in recipes:
                for ingredient in recipe.ingredients:
                    self._uses.setdefault(ingredient.name, []).append(recipe)

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return len(self._goals[self.check(split)])

    def _problem(self, split: str, number: int) -> CraftWorld:
        goal = self._goals[split][number]
        needed = commands_of(self.book, goal)
        stream = Stream("textcraft official", self._seed, goal)
        distractors: dict[str, Recipe] = {}
        for recipe in needed:
            for ingredient in recipe.ingredients:
                uses = self._uses[ingredient.name]
                drawn = stream.sample(uses, min(USES, len(uses)))
                distractors.update((str(distractor), distractor) for distractor in drawn)
        lines = {str(recipe) for recipe in needed}
        unused = [recipe for line, recipe in distractors.items() if line not in lines]
        sampled = stream.sample(unused, min(self._distractors, len(unused)))
        return CraftWorld(self.book, goal, tuple(stream.shuffled([*needed, *sampled])))


def open_tasks(
    difficulty: GeneratorConfig | str | Mapping[str, Any],
    changes: Mapping[str, Any],
    seed: int,
    data: str | Path | None,
) -> CraftTasks:
    """Return generated tasks, or the tasks of the recipes in ``data``.

    Args:
        difficulty: Settings of generated worlds, or their name.
        changes: Settings that override them.
        seed: Selects a set of worlds, or of distractors.
        data: Folder of Minecraft's recipes.

    Raises:
        ConfigurationError: A value is out of range, or does not apply to these tasks.
        DataError: There are no recipes, or a file is damaged.
    """
    seed = integer(seed, "generator_seed", 0)
    if data is None:
        config = GeneratorConfig.of(difficulty)
        return _generated(GeneratorConfig.of({**vars(config), **changes}), seed)
    unexpected = sorted(set(changes) - {"distractors"})
    if unexpected:
        raise ConfigurationError(
            f"expected no {', '.join(unexpected)} with data=, since published recipes are fixed; "
            "leave data= out for generated ones"
        )
    limit = integer(changes.get("distractors", DISTRACTORS), "distractors", 0, 1000)
    return OfficialTasks(data, limit, seed)


@lru_cache(maxsize=16)
def _generated(config: GeneratorConfig, seed: int) -> GeneratedTasks:
    return GeneratedTasks(config, seed)
