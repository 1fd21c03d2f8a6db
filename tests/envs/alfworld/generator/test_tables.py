"""Our tables against those of the installed alfworld package, fact by fact."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.alfworld.engine.household import TASK_TYPES
from agentgym.envs.alfworld.generator.object_tables import (
    CONTENTS,
    GOALS,
    LAMP_SUPPORTS,
    OPENABLE,
    PROPERTIES,
    SENTENCES,
    TASK_ROOMS,
)
from agentgym.envs.alfworld.generator.rooms import (
    kind_of,
    location_name,
    pddl_name,
    room,
    room_numbers,
)
from agentgym.envs.alfworld.original.package import import_alfworld

ALL_ROOMS = sorted(room_numbers("train") + room_numbers("valid_unseen"))
BASINS = {"Sink": "SinkBasin", "Bathtub": "BathtubBasin"}


@pytest.fixture(scope="module")
def constants() -> Any:
    if importlib.util.find_spec("alfworld") is None:
        pytest.skip("compares with the alfworld package, which is not installed")
    import_alfworld()
    return importlib.import_module("alfworld.gen.constants")


@pytest.fixture(scope="module")
def goals(constants: Any) -> Any:
    return importlib.import_module("alfworld.gen.goal_library").gdict


def test_contents(constants: Any) -> None:
    movable = set(constants.MOVABLE_RECEPTACLES)
    contents = {
        kind: {name for name in names if not name.endswith("Sliced")}
        for kind, names in constants.VAL_RECEPTACLE_OBJECTS.items()
        if kind not in movable
    }
    assert {kind: set(names) for kind, names in CONTENTS.items()} == contents


def test_properties(constants: Any) -> None:
    properties = {
        name.lower(): {kind for kind in kinds if not kind.endswith("Sliced")}
        for name, kinds in constants.VAL_ACTION_OBJECTS.items()
    }
    toggled = properties.pop("toggleable")
    assert toggled == set(LAMP_SUPPORTS)
    properties["isReceptacleObject"] = constants.MOVABLE_RECEPTACLES_SET
    assert properties == PROPERTIES
    assert OPENABLE == constants.OPENABLE_CLASS_SET - constants.MOVABLE_RECEPTACLES_SET


def test_rooms_of_tasks(constants: Any) -> None:
    assert {name: constants.GOALS_VALID[name] for name in TASK_TYPES} == TASK_ROOMS
    for number in ALL_ROOMS:
        assert number in constants.SCENE_TYPE[kind_of(number)]
    assert sorted(constants.SCENE_NUMBERS) == ALL_ROOMS


@pytest.mark.parametrize("number", ALL_ROOMS)
def test_floor_plans(number: int, constants: Any) -> None:
    layouts = Path(constants.__file__).parent / "layouts"
    poses = json.loads((layouts / f"FloorPlan{number}-openable.json").read_text())
    types = set(json.loads((layouts / f"FloorPlan{number}-objects.json").read_text()))
    expected = {
        pddl_name(name): location_name(round(x * 4), round(z * 4), rotation // 90, horizon)
        for name, (x, z, rotation, horizon) in poses.items()
    }
    plan = room(number)
    locations = {r.pddl_name: r.location for r in plan.receptacles}
    assert {name: locations[name] for name in expected} == expected
    posed = {BASINS.get(head, head) for head in (name.split("|")[0] for name in poses)}
    added = [r for r in plan.receptacles if r.pddl_name not in expected]
    assert {r.kind for r in added} == (types & set(CONTENTS)) - posed
    assert len({r.pddl_name for r in plan.receptacles}) == len(plan.receptacles)
    assert len({r.location for r in added} - set(expected.values())) == len(added)
    placeable = {kind for kinds in CONTENTS.values() for kind in kinds} | set(LAMP_SUPPORTS)
    assert set(plan.objects) == types & placeable
    assert list(plan.objects) == sorted(plan.objects)


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_goals_and_sentences(task_type: str, goals: Any) -> None:
    names = {"obj": "Mug", "recep": "Desk", "toggle": "DeskLamp"}
    sentences = [text.format(**names) for text in goals[task_type]["templates"]]
    values = {"target": "Mug", "goal": "Desk", "lamp": "DeskLamp"}
    assert [text.format(**values) for text in SENTENCES[task_type]] == sentences
    original = goals[task_type]["pddl"].format(**names).replace("#", "-")
    goal = f"(:goal (and {GOALS[task_type].format(**values)} )) )"
    assert tokens(goal) == tokens(original)


def tokens(text: str) -> list[str]:
    return re.findall(r"[()]|[^\s()]+", text)
