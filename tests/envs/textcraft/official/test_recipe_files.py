"""Minecraft's recipe files, in the forms that the game has had; the recipes here are our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.errors import AgentGymError, ConfigurationError, DataError

RECIPES: dict[str, Any] = {
    "zeb_plank": {
        "type": "minecraft:crafting_shapeless", "group": "boards",
        "ingredients": [{"item": "minecraft:zeb_log"}],
        "result": {"item": "minecraft:zeb_plank", "count": 4},
    },
    "yol_plank": {
        "type": "crafting_shapeless", "group": "boards", "ingredients": ["minecraft:yol_log"],
        "result": {"id": "minecraft:yol_plank", "count": 4},
    },
    "rod": {
        "type": "minecraft:crafting_shaped", "pattern": ["#", "#"],
        "key": {"#": [{"tag": "minecraft:boards"}, {"item": "minecraft:reed"}]},
        "result": {"item": "minecraft:rod", "count": 4},
    },
    "flail": {
        "type": "minecraft:crafting_shaped", "pattern": ["XX ", " # ", " # "],
        "key": {"#": "minecraft:rod", "X": "#minecraft:hard_things"},
        "result": "minecraft:flail",
    },
    "seal": {
        "type": "minecraft:crafting_shapeless",
        "ingredients": [{"item": "minecraft:wax"}, {"item": "minecraft:wax"},
                        {"item": "minecraft:rod"}],
        "result": {"item": "minecraft:seal"},
    },
    "unrod": {  # made of what is made of it
        "type": "minecraft:crafting_shapeless", "ingredients": [{"item": "minecraft:seal"}],
        "result": {"item": "minecraft:wax"},
    },
    "ingot": {
        "type": "minecraft:crafting_shapeless", "ingredients": [{"item": "minecraft:tin_block"}],
        "result": {"item": "minecraft:tin", "count": 9},
    },
    "melt": {"type": "minecraft:smelting", "ingredient": {"item": "minecraft:ore"}},
}  # fmt: skip


def write(folder: Path, recipes: dict[str, Any]) -> Path:
    place = folder / "recipes"
    place.mkdir()
    for name, recipe in recipes.items():
        (place / f"{name}.json").write_text(json.dumps(recipe))
    return folder


def make(folder: Path, **kwargs: Any) -> TextEnv:
    env = gymnasium.make("agentgym/TextCraft-v0", data=str(folder), **kwargs).unwrapped
    assert isinstance(env, TextEnv)
    return env


def test_every_goal_is_a_task_and_the_expert_solves_it(tmp_path: Path) -> None:
    env = make(write(tmp_path, RECIPES))
    episodes = {}
    for split in env.tasks.splits:
        for task in env.tasks.iterate(split):
            observation, info = env.reset(options={"task_id": task.id})
            actions = []
            while not info["stop_reason"]:
                actions.append(str(env.demonstrator_action()))
                info = env.step(actions[-1])[4]
            assert info["success"]
            episodes[info["task_id"]] = (task.goal, observation, actions)
    by_goal = {goal: (observation, actions) for goal, observation, actions in episodes.values()}
    assert set(by_goal) == {f"Craft {x}." for x in ("zeb plank", "yol plank", "rod", "flail",
                                                    "seal")}  # fmt: skip
    observation, actions = by_goal["Craft flail."]
    for line in ("craft 1 flail using 2 rod, 2 hard things", "craft 4 rod using 2 boards",
                 "craft 4 yol plank using 1 yol log"):  # fmt: skip
        assert line in observation
    assert "get 2 hard things" in actions and len(actions) == 5
    assert any(f"craft 4 rod using 2 {wood} plank" in actions for wood in ("zeb", "yol"))


def test_texts_are_those_of_the_published_environment(tmp_path: Path) -> None:
    env = make(write(tmp_path, RECIPES))
    env.reset(options={"task_id": next(
        task.id for split in env.tasks.splits for task in env.tasks.iterate(split)
        if task.goal == "Craft flail."
    )})  # fmt: skip
    answers = [env.step(a)[0] for a in ("get 1 zeb log", "craft 4 zeb plank using 1 zeb log",
                                     "get 2 boards", "craft 4 rod using 2 boards")]  # fmt: skip
    assert answers == [
        "Got 1 zeb log", "Crafted 4 minecraft:zeb_plank", "Could not find boards",
        "Could not find enough items to craft minecraft:rod",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "expected a folder with 1 to 20,000 recipe files"),
        ("{", r"expected a recipe of Minecraft in .*one\.json"),
        ('{"type": "minecraft:crafting_shaped"}', "KeyError"),
        ('{"type": "minecraft:smelting"}', "expected shaped or shapeless recipes"),
        ('{"type": "crafting_shapeless", "ingredients": [[]], "result": "x"}', "IndexError"),
        ('{"type": "crafting_shapeless", "ingredients": [7], "result": "x"}', "TypeError"),
        ('{"type": "crafting_shapeless", "ingredients": ["a"], "result": {"id": "x", '
         '"count": 1000000}}', "expected 1 to 999"),
    ],
)  # fmt: skip
def test_what_is_no_recipe_is_named(tmp_path: Path, content: str | None, error: str) -> None:
    folder = write(tmp_path, {})
    if content is not None:
        (folder / "recipes" / "one.json").write_text(content)
    else:
        (folder / "recipes").rmdir()
    with pytest.raises(DataError, match=error):
        make(folder)


def test_settings_of_the_generator_are_refused_with_recipes(tmp_path: Path) -> None:
    folder = write(tmp_path, RECIPES)
    with pytest.raises(ConfigurationError, match="expected no depth with data="):
        make(folder, depth=3)
    with pytest.raises(AgentGymError):
        make(folder, distractors=-1)
