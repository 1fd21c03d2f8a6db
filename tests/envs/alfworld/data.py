"""Official data in small: folders of both generations and packs, made of generated games."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.generator import GeneratorConfig, generate, trial_folder
from agentgym.envs.alfworld.generator.writer import task_parameters
from agentgym.envs.alfworld.official.packs import Pack

SMALL = GeneratorConfig(receptacles=(3, 4), distractors=(0, 2))
OLD_RULE = '"PutObject.feedback": [{"rhs": "You put the {o.name} in/on the {r.name}."}]'
NEW_RULE = '"PutObject.feedback": [{"rhs": "You move the {o.name} to the {r.name}."}]'


def games(count: int = 6, split: str = "train") -> list[Game]:
    return [generate(SMALL, split, number) for number in range(count)]


def write_trial(folder: Path, game: Game, *, old: bool = False, **changes: Any) -> Path:
    """Write what alfworld-download leaves, without the real domain and grammar."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "pddl_domain": "(define (domain alfred))",
        "grammar": (
            '{"task": [{"rhs": "Your task is to: ' + game.goal + '"}], '
            f"{OLD_RULE if old else NEW_RULE}}}"
        ),
        "pddl_problem": game.problem,
        "solvable": True,
    }
    if not old:
        content["walkthrough"] = ["look"]
    content.update(changes)
    trajectory = {
        "task_id": folder.name,
        "task_type": game.task_type,
        "pddl_params": task_parameters(game),
        "scene": {"scene_num": int(game.scene.removeprefix("FloorPlan"))},
        "turk_annotations": {"anns": [{"task_desc": f"Do it, please: {game.goal}"}]},
    }
    (folder / "traj_data.json").write_text(json.dumps(trajectory))
    (folder / "initial_state.pddl").write_text(game.problem)
    (folder / "game.tw-pddl").write_text(json.dumps(content))
    return folder


def write_split(folder: Path, listed: Iterable[Game], *, old: bool = False) -> Path:
    for game in listed:
        write_trial(folder / trial_folder(game), game, old=old)
    return folder


def pack_item(game: Game) -> dict[str, Any]:
    return {
        "id": trial_folder(game).as_posix(),
        "task_type": game.task_type,
        "scene": int(game.scene.removeprefix("FloorPlan")),
        "pddl_params": task_parameters(game),
        "desc": game.goal,
        "pddl_problem": game.problem,
    }


def write_pack(path: Path, listed: Iterable[Game]) -> Path:
    path.write_bytes(gzip.compress(json.dumps([pack_item(game) for game in listed]).encode()))
    return path


def damaged(sound: bytes, how: str) -> bytes:
    """Return a file of the cache as a crash, a disk or another program may leave it."""
    return {
        "cut": sound[:-3],
        "empty": b"",
        "flipped": sound[:-2] + bytes([sound[-2] ^ 1]) + sound[-1:],
        "foreign": b'{"key": "another", "size": 2, "sha256": ""}\n[]',
        "deep": b"[" * 100_000,
    }[how]


def find_pack(name: str) -> Path | None:
    """Return a recorded pack of official games, if it is here."""
    folder = os.environ.get("AGENTGYM_TEST_DATA")
    roots = [Path(folder)] if folder else []
    roots += [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]
    paths = (root / "alfworld" / name for root in roots)
    return next((path for path in paths if path.is_file()), None)


def shared_pack(name: str) -> Path:
    """Return a recorded pack of official games, or skip the test."""
    return find_pack(name) or pytest.skip(
        f"needs the recorded games alfworld/{name}: set AGENTGYM_TEST_DATA to their folder"
    )


def read_pack(path: Path) -> tuple[Game, ...]:
    """Return all games of a pack in its order and with its ids."""
    pack = Pack(path)
    return tuple(
        Game(entry.id, entry.task_type, entry.scene, entry.goal, pack.problem(number))
        for number, entry in enumerate(pack.entries)
    )
