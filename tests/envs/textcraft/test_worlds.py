"""Generated worlds: as deep and as long as asked for, apart by split, with the shortest plans."""

from __future__ import annotations

from collections import deque

import gymnasium
import pytest

from agentgym.envs.textcraft.engine.recipes import Amount, CraftWorld, Recipe, RecipeBook
from agentgym.envs.textcraft.engine.session import CraftSession
from agentgym.envs.textcraft.experts.oracle import shortest_plan
from agentgym.envs.textcraft.generator import DIFFICULTIES, GeneratorConfig, generate
from agentgym.envs.textcraft.tasks import GeneratedTasks
from agentgym.errors import ConfigurationError


@pytest.mark.parametrize("name", DIFFICULTIES)
def test_worlds_are_what_the_settings_say(name: str) -> None:
    config = DIFFICULTIES[name]
    names: dict[str, set[str]] = {"train": set(), "valid": set(), "test": set()}
    for split, number in ((split, number) for split in names for number in range(20)):
        world = generate(config, split, number)
        assert generate(config, split, number) == world or world.commands
        plan = shortest_plan(world, {})
        assert plan is not None and config.turns[0] <= len(plan) <= config.turns[1]
        assert config.depth[0] <= world.depth <= config.depth[1]
        session = CraftSession(world)
        assert [session.step(command).won for command in plan] == [False] * (len(plan) - 1) + [True]
        names[split] |= world.book.raw_items | set(world.book.by_product)
    assert not names["train"] & names["valid"] and not names["test"] & (
        names["train"] | names["valid"]
    )
    words = {split: {word for name in group for word in name.split()} for split, group in
             names.items()}  # fmt: skip
    assert len(words["test"] & words["train"]) > 0.8 * len(words["test"])


def searched(world: CraftWorld) -> int:
    """Return the length of the shortest plan by search over states, with amounts that suffice."""
    limits = {name: 6 for name in world.book.raw_items}
    queue: deque[tuple[dict[str, int], int]] = deque([({}, 0)])
    visited = set()
    while queue:
        carried, turns = queue.popleft()
        session = CraftSession(world)
        commands = [f"get {limits[name]} {name}" for name in limits if name not in carried]
        session.restore(carried)
        commands += [command for command in session.admissible() if command.startswith("craft")]
        for command in commands:
            session.restore(carried)
            if session.step(command).won:
                return turns + 1
            key = tuple(sorted(session.inventory.items()))
            if key not in visited:
                visited.add(key)
                queue.append((session.snapshot(), turns + 1))
    raise AssertionError("nothing makes the goal")


def test_plans_are_as_short_as_a_search_over_states_finds() -> None:
    """Amounts matter, and of two recipes the one that costs fewer turns in all is taken."""
    config = GeneratorConfig(
        depth=2, ingredients=2, counts=(1, 2), yields=(1, 2), crafted=50, shared=50,
        alternatives=50, distractors=0, turns=(2, 6),
    )  # fmt: skip
    for number in range(12):
        world = generate(config, "train", number)
        plan = shortest_plan(world, {})
        assert plan is not None and len(plan) == searched(world), world.opening()


def test_circles_of_recipes_do_no_harm() -> None:
    nugget = Recipe(Amount("nugget", 9), (Amount("ingot", 1),))
    ingot = Recipe(Amount("ingot", 1), (Amount("nugget", 9),))
    smelt = Recipe(Amount("ingot", 1), (Amount("ore", 1),))
    world = CraftWorld(RecipeBook([nugget, ingot, smelt]), "nugget", (nugget, ingot))
    assert shortest_plan(world, {}) == (
        "get 1 ore", "craft 1 ingot using 1 ore", "craft 9 nugget using 1 ingot"
    )  # fmt: skip
    closed = CraftWorld(RecipeBook([nugget, ingot]), "nugget", (nugget, ingot))
    assert shortest_plan(closed, {}) is None


def test_a_world_of_every_setting_at_its_limit_can_be_made() -> None:
    config = GeneratorConfig(
        depth=6, ingredients=3, counts=9, yields=1, crafted=100, shared=0, alternatives=100,
        distractors=40, borrowed=0, turns=None,
    )  # fmt: skip
    assert shortest_plan(generate(config, "test", 0), {})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"depth": 0}, "expected depth to be a number from 1 to 6"),
        ({"depth": (3, 2)}, "expected depth"),
        ({"crafted": 101}, "expected crafted to be an integer from 0 to 100"),
        ({"deep": 3}, "expected generator settings among depth, .*; got 'deep'"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        gymnasium.make("agentgym/TextCraft-v0", difficulty=settings)


def test_settings_that_no_world_has_are_told() -> None:
    impossible = GeneratorConfig(depth=1, ingredients=1, turns=40)
    with pytest.raises(ConfigurationError, match="widen turns"):
        GeneratedTasks(impossible).task("train", 0)


def test_depth_and_distractors_are_arguments() -> None:
    env = gymnasium.make("agentgym/TextCraft-v0", depth=4, distractors=3, horizon=60,
                         difficulty={"turns": None}).unwrapped  # fmt: skip
    tasks = env.tasks
    for index in range(5):
        world = tasks.problem(tasks.task("test", index))
        assert world.depth == 4
        assert tasks.labels(tasks.task("test", index))["task_type"] == "depth 4"
    assert tasks.name.startswith("textcraft/custom-")
