"""Writing games as ALFWorld folders, which the original environment collects and plays."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.official.gamefile import GAME_FILE, TRAJECTORY_FILE
from agentgym.envs.alfworld.original.package import UNNAMED_TASK, package_texts
from agentgym.errors import DataError

PROBLEM_FILE = "initial_state.pddl"

_PLAIN = re.compile(r"[A-Za-z0-9 ,.'-]{1,300}")
_TYPED = re.compile(r"\((objectType|receptacleType) \?\w+ (\w+)Type\)", re.IGNORECASE)


def write_game(game: Game, folder: str | Path, walkthrough: Sequence[str] | None = None) -> Path:
    """Write a game as a trial folder of ALFWorld.

    The folder then holds ``game.tw-pddl`` (with domain and grammar of the installed alfworld
    package), ``initial_state.pddl`` and ``traj_data.json``. The latter has the task, but none of
    the robot's actions, so it serves the text game and not the simulator.

    Args:
        game: The game.
        folder: Where to write; it is made if absent. :func:`trial_folder` gives a path below the
            folder of a split in the manner of the official data.
        walkthrough: Commands that win the game, if known.

    Returns:
        Path of the game file.

    Raises:
        DependencyNotInstalled: The alfworld package is absent.
        DataError: The sentence has characters that cannot be put into the text grammar, which the
            original engine evaluates as code.
    """
    if not _PLAIN.fullmatch(game.goal):
        raise DataError(
            "expected a goal of letters, digits and plain punctuation, because the original engine "
            f"evaluates the grammar that it is put into; got {game.goal[:80]!r}"
        )
    domain, grammar = package_texts()
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    content = {
        "pddl_domain": domain,
        "grammar": grammar.replace(UNNAMED_TASK, f"Your task is to: {game.goal}"),
        "pddl_problem": game.problem,
        "solvable": True,
        "walkthrough": None if walkthrough is None else list(walkthrough),
    }
    (target / PROBLEM_FILE).write_text(game.problem, encoding="utf-8")
    trajectory = json.dumps(_trajectory(game, target.name), indent=1)
    (target / TRAJECTORY_FILE).write_text(trajectory, encoding="utf-8")
    (target / GAME_FILE).write_text(json.dumps(content), encoding="utf-8")
    return target / GAME_FILE


def trial_folder(game: Game) -> Path:
    """Return a relative path in the manner of the official data, another one for every id.

    It reads, for example, ``pick_and_place_simple-Mug-None-Desk-305/trial_3c1f...``.
    """
    task = task_parameters(game)
    place = task["parent_target"] or task["toggle_target"]
    number = game.scene.removeprefix("FloorPlan")
    trial = hashlib.sha256(game.id.encode()).hexdigest()[:16]
    return Path(f"{game.task_type}-{task['object_target']}-None-{place}-{number}", f"trial_{trial}")


def task_parameters(game: Game) -> dict[str, Any]:
    """Read ALFRED's ``pddl_params`` off the goal of a problem; absent ones are empty.

    Raises:
        DataError: The problem's goal names no object.
    """
    goal = game.problem[game.problem.rfind("(:goal") :]
    objects: list[str] = []
    receptacles: list[str] = []
    for predicate, kind in _TYPED.findall(goal):
        (objects if predicate.lower() == "objecttype" else receptacles).append(kind)
    lamps = [kind for kind in objects if game.task_type == "look_at_obj_in_light"][:1]
    targets = objects[len(lamps) :]
    if not targets:
        raise DataError(
            f"expected the goal of {game.id} to name the type of an object; got {goal[:200]!r}"
        )
    return {
        "object_target": targets[0],
        "parent_target": receptacles[0] if receptacles else "",
        "toggle_target": lamps[0] if lamps else "",
        "mrecep_target": "",
        "object_sliced": False,
    }


def _trajectory(game: Game, trial: str) -> dict[str, Any]:
    """Return the entries of ``traj_data.json`` that the text game's tools read."""
    number = game.scene.removeprefix("FloorPlan")
    return {
        "task_id": trial,
        "task_type": game.task_type,
        "pddl_params": task_parameters(game),
        "scene": {
            "floor_plan": game.scene,
            "scene_num": int(number) if number.isdigit() else 0,
            "object_poses": [],
            "object_toggles": [],
            "dirty_and_empty": False,
        },
        "plan": {"high_pddl": [], "low_actions": []},
        "turk_annotations": {"anns": [{"task_desc": game.goal, "high_descs": []}]},
    }
