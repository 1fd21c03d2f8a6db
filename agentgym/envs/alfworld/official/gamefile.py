"""Reading the files of one official game: only JSON and regular expressions, sizes bounded.

Game files are untrusted. Their domain and grammar are never used, since the original engine
evaluates grammars as code; only the problem and the sentence are kept.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game, Household
from agentgym.errors import DataError

GAME_FILE = "game.tw-pddl"
TRAJECTORY_FILE = "traj_data.json"
LARGEST_GAME = 8 << 20
"""Bytes of a ``game.tw-pddl``; the largest official one has about 0.15 million."""

LARGEST_TRAJECTORY = 64 << 20
LONGEST_GOAL = 1000
LONGEST_PROBLEM = 4 << 20

_SENTENCE = re.compile(r'Your task is to: ((?:[^"\\\n]|\\.){1,2000})"')
_SCENE = re.compile(r"FloorPlan\d{1,4}")
_REMEDY = "remove its folder, or fetch the data again with alfworld-download"


@dataclass(frozen=True, slots=True)
class GameEntry:
    """The metadata of an official game, available before it is read."""

    id: str
    """Name, for example ``pick_and_place_simple-Mug-None-Desk-305/trial_T2019...``."""
    task_type: str
    """One of the six task types."""
    scene: str
    """Floor plan; empty if the data does not name it."""
    goal: str
    """The sentence of the game."""
    human_goal: str
    """A sentence that a person wrote for it; empty if there is none."""
    sha256: str
    """Hash (hex) of the PDDL problem."""


@dataclass(frozen=True, slots=True)
class GameFile:
    """The parts of a ``game.tw-pddl`` that are used."""

    solvable: bool | None
    """The value in the file; None if absent."""
    goal: str
    """The sentence of the game; empty unless solvable."""
    problem: str
    """The PDDL problem; empty unless solvable."""


@dataclass(frozen=True, slots=True)
class TrialInfo:
    """The parts of a ``traj_data.json`` that are used."""

    task_type: str
    """ALFRED's task type; not only those that text games have."""
    scene: str
    """Floor plan, for example ``"FloorPlan305"``; empty if not named."""
    human_goal: str
    """The first sentence that a person wrote for it; empty if none."""


def read_game(path: Path) -> GameFile:
    """Read a ``game.tw-pddl`` of either generation.

    Raises:
        DataError: It is damaged.
    """
    content = _load_object(path, LARGEST_GAME)
    solvable = content.get("solvable")
    if solvable is not True:
        return GameFile(None if "solvable" not in content else False, "", "")
    grammar = content.get("grammar")
    match = _SENTENCE.search(grammar) if isinstance(grammar, str) else None
    goal = clean_goal(_unescaped(match[1])) if match else ""
    if not goal:
        raise DataError(
            f'expected "Your task is to: ..." in the grammar of {path}, but it is not there; '
            f"{_REMEDY}"
        )
    return GameFile(True, goal, checked_problem(content.get("pddl_problem"), str(path)))


def read_trajectory(path: Path) -> TrialInfo:
    """Read a ``traj_data.json``.

    Raises:
        DataError: It is damaged.
    """
    content = _load_object(path, LARGEST_TRAJECTORY)
    task_type = content.get("task_type")
    if not isinstance(task_type, str):
        raise DataError(f"expected a task_type in {path}, got {task_type!r}; {_REMEDY}")
    return TrialInfo(task_type, _scene(content.get("scene")), _human_goal(content))


def _load_object(path: Path, limit: int) -> dict[str, Any]:
    """Read a file that holds one JSON object and has at most ``limit`` bytes."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
        content = json.loads(data) if len(data) <= limit else None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"expected a JSON file at {path}, but it cannot be read ({error}); {_REMEDY}"
        ) from error
    if not isinstance(content, dict):
        raise DataError(
            f"expected one JSON object of at most {limit} bytes in {path}, got something else; "
            f"{_REMEDY}"
        )
    return content


def clean_goal(text: Any) -> str:
    """Return a goal as one printable line with a final full stop; empty if it cannot be one.

    The grammar adds the full stop, so a sentence has one in the game whether or not it had before.
    """
    if not isinstance(text, str) or len(text) > 2 * LONGEST_GOAL:
        return ""
    line = " ".join(text.split())
    if not line.strip(".") or len(line) > LONGEST_GOAL or not line.isprintable():
        return ""
    return line if line.endswith(".") else f"{line}."


def checked_problem(problem: Any, source_name: str) -> str:
    """Return the entry ``pddl_problem`` if it can be a problem.

    Raises:
        DataError: It cannot be a problem.
    """
    parts = (":objects", ":init", ":goal")
    if (
        not isinstance(problem, str)
        or len(problem) > LONGEST_PROBLEM
        or any(part not in problem for part in parts)
    ):
        raise DataError(
            f"expected a PDDL problem with {', '.join(parts)} under pddl_problem of {source_name}, "
            f"got {str(problem)[:60]!r}; {_REMEDY}"
        )
    return problem


def check_playable(problem: str, source_name: str) -> None:
    """Compile a problem once, so that a malformed one is reported before play.

    Raises:
        DataError: It is malformed or leaves the domain.
    """
    try:
        Household.of(Game("", TASK_TYPES[0], "", "", problem))
    except DataError as error:
        raise DataError(f"in pddl_problem of {source_name}: {error}; or {_REMEDY}") from error


def scene_name(scene: Any) -> str:
    """Return a floor plan's name from its number or name; empty if it is neither."""
    if type(scene) is int and 0 < scene < 10_000:
        return f"FloorPlan{scene}"
    return scene if isinstance(scene, str) and _SCENE.fullmatch(scene) else ""


def _scene(scene: Any) -> str:
    if not isinstance(scene, dict):
        return ""
    return scene_name(scene.get("scene_num")) or scene_name(scene.get("floor_plan"))


def _human_goal(content: dict[str, Any]) -> str:
    """Return the first usable sentence under ``turk_annotations``."""
    turk = content.get("turk_annotations")
    annotations = turk.get("anns") if isinstance(turk, dict) else None
    for annotation in annotations if isinstance(annotations, list) else ():
        if isinstance(annotation, dict) and (goal := clean_goal(annotation.get("task_desc"))):
            return goal
    return ""


def _unescaped(text: str) -> str:
    """Undo the escapes of a quoted string."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
