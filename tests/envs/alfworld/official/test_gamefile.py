"""Reading single files: any content is read or refused with a DataError, never anything else."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.envs.alfworld.official.gamefile import (
    clean_goal,
    read_game,
    read_trajectory,
    scene_name,
)
from agentgym.envs.alfworld.official.packs import Pack
from agentgym.errors import DataError
from tests.envs.alfworld.data import games, pack_item, write_trial

GAME = games(1)[0]
calm = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
plain = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters='"\\') | st.just(" "),
    min_size=1,
    max_size=60,
).filter(lambda text: bool(text.strip(" .")))


@calm
@given(st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()))
def test_any_content_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    for reader in (read_game, read_trajectory, Pack):
        with contextlib.suppress(DataError):
            reader(path)


@calm
@given(
    st.sampled_from(["solvable", "grammar", "pddl_problem", "task_type", "scene",
                     "turk_annotations", "id", "desc"]),
    values,
)  # fmt: skip
def test_any_value_of_a_field_is_read_or_refused(tmp_path: Path, field: str, value: Any) -> None:
    folder = write_trial(tmp_path, GAME, **{field: value})
    trajectory = json.loads((folder / "traj_data.json").read_text())
    (folder / "traj_data.json").write_text(json.dumps({**trajectory, field: value}))
    (folder / "pack.json").write_text(json.dumps([{**pack_item(GAME), field: value}]))
    for reader, name in (
        (read_game, "game.tw-pddl"), (read_trajectory, "traj_data.json"), (Pack, "pack.json"),
    ):  # fmt: skip
        with contextlib.suppress(DataError):
            reader(folder / name)


@calm
@given(plain)
def test_sentences_are_read_as_they_stand_in_the_game(tmp_path: Path, sentence: str) -> None:
    grammar = json.dumps({"task": [{"rhs": "Your task is to: " + sentence}]}, ensure_ascii=False)
    folder = write_trial(tmp_path, GAME, grammar=grammar)
    goal = read_game(folder / "game.tw-pddl").goal
    assert goal == clean_goal(sentence)
    assert goal.rstrip(".") == " ".join(sentence.split()).rstrip(".")
    assert goal.endswith(".") and clean_goal(goal) == goal


def test_escaped_quotes_are_undone(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, GAME, grammar='"rhs": "Your task is to: put \\"it\\" down."')
    assert read_game(folder / "game.tw-pddl").goal == 'put "it" down.'


def test_no_code_of_a_file_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "run"
    code = f"{{__import__('pathlib').Path('{marker}').touch()}}"
    folder = write_trial(tmp_path, GAME, grammar=f'"Your task is to: {code}." {code}')
    assert code in read_game(folder / "game.tw-pddl").goal
    assert not marker.exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("put a mug in desk", "put a mug in desk."), (" a \n b. ", "a b."), ("...", ""), ("", ""),
     (None, ""), ("x" * 5000, ""), ("a\x07", "")],
)  # fmt: skip
def test_goals_are_one_line(text: Any, expected: str) -> None:
    assert clean_goal(text) == expected


def test_scenes() -> None:
    assert scene_name(305) == scene_name("FloorPlan305") == "FloorPlan305"
    assert not any(map(scene_name, (0, -1, True, "x", None, 3.0, "FloorPlan305/..", 10**9)))
