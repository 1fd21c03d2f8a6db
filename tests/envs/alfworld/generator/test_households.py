"""Generated households: sound, of the size asked for, and the same everywhere."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game, Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts.oracle import plan
from agentgym.envs.alfworld.generator import DIFFICULTIES, GeneratorConfig, generate
from agentgym.envs.alfworld.generator.households import set_name
from agentgym.envs.alfworld.generator.object_tables import (
    CONTENTS,
    LAMP_SUPPORTS,
    OPENABLE,
    ROOM_KINDS,
    TASK_ROOMS,
)
from agentgym.envs.alfworld.generator.rooms import (
    HELD_OUT,
    SPLIT_ROOMS,
    kind_of,
    room,
    room_numbers,
)
from agentgym.errors import ConfigurationError, TaskNotFound

GOLDEN = "b251e4d465e682875bb0e6517407308d9f86edb495f9f2b5f28c2ca843eeed53"

_DIGEST = """
import hashlib
from agentgym.envs.alfworld.generator import DIFFICULTIES, generate
from agentgym.envs.alfworld.generator.rooms import SPLIT_ROOMS
text = "".join(
    repr(generate(config, split, number, seed))
    for config in DIFFICULTIES.values() for split in SPLIT_ROOMS
    for number in range(6) for seed in (0, 7)
)
print(hashlib.sha256(text.encode()).hexdigest())
"""

spans = st.none() | st.integers(3, 40) | st.tuples(st.integers(3, 8), st.integers(8, 30))
clutter = st.none() | st.integers(0, 40) | st.tuples(st.integers(0, 8), st.integers(8, 30))
all_configs = st.builds(
    GeneratorConfig,
    task_types=st.lists(st.sampled_from(TASK_TYPES), min_size=1, unique=True),
    receptacles=spans,
    distractors=clutter,
    hidden=st.sampled_from([None, True, False]),
)
splits = st.sampled_from(list(SPLIT_ROOMS))


def facts(game: Game) -> list[tuple[str, ...]]:
    initial = game.problem[game.problem.index("(:init") : game.problem.index("(:goal")]
    return [tuple(fact.split()) for fact in re.findall(r"\(([^()]+)\)", initial)]


def play(game: Game) -> tuple[int, bool]:
    """Return the length of the expert's plan and whether it wins."""
    session = HouseholdSession(Household.of(game))
    assert not session.won
    commands = plan(session)
    assert commands
    for command in commands:
        assert not session.done
        assert command in session.admissible()
        session.step(command)
    return len(commands), session.won


@settings(max_examples=60, deadline=None)
@given(all_configs, splits, st.integers(0, 10**6), st.integers(0, 2**40))
def test_every_household_is_sound_and_won_by_the_expert(
    config: GeneratorConfig, split: str, number: int, seed: int
) -> None:
    game = generate(config, split, number, seed)
    assert game == generate(config, split, number, seed)
    assert game.task_type == config.task_types[number % len(config.task_types)]
    scene = int(game.scene.removeprefix("FloorPlan"))
    assert (scene in HELD_OUT) == SPLIT_ROOMS[split]
    assert kind_of(scene) in TASK_ROOMS[game.task_type]
    length, won = play(game)
    assert won and 3 <= length <= 14


@settings(max_examples=60, deadline=None)
@given(all_configs, splits, st.integers(0, 10**6))
def test_objects_lie_where_they_may(config: GeneratorConfig, split: str, number: int) -> None:
    game = generate(config, split, number)
    literals = facts(game)
    receptacles = {f[1]: f[2].removesuffix("Type") for f in literals if f[0] == "receptacleType"}
    objects = {f[1]: f[2].removesuffix("Type") for f in literals if f[0] == "objectType"}
    places = {f[1]: f[2] for f in literals if f[0] == "receptacleAtLocation"}
    homes = {f[1]: f[2] for f in literals if f[0] == "inReceptacle"}
    available = {
        r.pddl_name: r for r in room(int(game.scene.removeprefix("FloorPlan"))).receptacles
    }
    assert set(places) == set(receptacles) <= set(available)
    assert all(available[name].kind == kind for name, kind in receptacles.items())
    assert set(homes) == set(objects)
    for name, home in homes.items():
        kind = objects[name]
        allowed = LAMP_SUPPORTS.get(kind) or [r for r in CONTENTS if kind in CONTENTS[r]]
        assert receptacles[home] in allowed
    closed = {f[1] for f in literals if f[0] == "openable"}
    assert closed == {name for name, kind in receptacles.items() if kind in OPENABLE}
    start = next(f[2] for f in literals if f[0] == "atLocation")
    assert start not in places.values()


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 9), st.sampled_from([True, False]), splits,
       st.integers(0, 10**6))  # fmt: skip
def test_the_config_decides_the_size(
    receptacles: int, distractors: int, hidden: bool, split: str, number: int
) -> None:
    config = GeneratorConfig(receptacles=receptacles, distractors=distractors, hidden=hidden)
    game = generate(config, split, number)
    literals = facts(game)
    kinds = {f[1]: f[2].removesuffix("Type") for f in literals if f[0] == "receptacleType"}
    objects = {f[1]: f[2].removesuffix("Type") for f in literals if f[0] == "objectType"}
    homes = {f[1]: kinds[f[2]] for f in literals if f[0] == "inReceptacle"}
    room_size = len(room(int(game.scene.removeprefix("FloorPlan"))).receptacles)
    needed = 4 if game.task_type == "pick_two_obj_and_place" else 3
    assert min(receptacles, room_size) <= len(kinds) <= max(receptacles, needed)
    target = re.findall(r"objectType \?\w+ (\w+)Type", game.problem)[-1]
    targets = [name for name, kind in objects.items() if kind == target]
    assert len(targets) == (2 if game.task_type == "pick_two_obj_and_place" else 1)
    assert all((homes[name] in OPENABLE) == hidden for name in targets)
    distractor_counts = Counter(kind for kind in objects.values() if kind != target)
    lamp = game.task_type == "look_at_obj_in_light"
    assert sum(distractor_counts.values()) <= distractors + lamp
    assert max(distractor_counts.values(), default=0) <= 3


def test_splits_have_rooms_of_their_own_and_every_kind() -> None:
    assert room_numbers("train") == room_numbers("valid_seen")
    assert set(room_numbers("train")).isdisjoint(room_numbers("valid_unseen"))
    assert set(room_numbers("train")) | set(room_numbers("valid_unseen")) == {
        hundred + number for hundred in (0, 200, 300, 400) for number in range(1, 31)
    }
    assert Counter(map(kind_of, room_numbers("valid_unseen"))) == dict.fromkeys(ROOM_KINDS, 3)
    for task_type in TASK_TYPES:
        for hidden in (True, False):
            config = GeneratorConfig(task_types=[task_type], hidden=hidden)
            scenes = {generate(config, "valid_unseen", number).scene for number in range(60)}
            kinds = {kind_of(int(scene.removeprefix("FloorPlan"))) for scene in scenes}
            if hidden is False:
                assert kinds == TASK_ROOMS[task_type]
            assert len(scenes) > 1


def test_splits_share_no_game() -> None:
    problems = {
        split: {generate(DIFFICULTIES["easy"], split, n).problem for n in range(300)}
        for split in SPLIT_ROOMS
    }
    assert all(len(texts) == 300 for texts in problems.values())
    assert problems["train"].isdisjoint(problems["valid_seen"])


def test_difficulties_grow() -> None:
    def size(name: str) -> tuple[float, float]:
        listed = [generate(DIFFICULTIES[name], "valid_unseen", n) for n in range(60)]
        return (
            sum(game.problem.count(" - receptacle\n") for game in listed) / 60,
            sum(game.problem.count(" - object\n") for game in listed) / 60,
        )

    easy, medium, hard = map(size, DIFFICULTIES)
    assert easy < medium < hard
    assert easy[0] <= 6 and easy[1] <= 6


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_games_are_the_same_in_every_process(hash_seed: str) -> None:
    environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", _DIGEST], capture_output=True, text=True, env=environment, check=True
    )
    assert run.stdout.strip() == GOLDEN


def test_keys_and_names() -> None:
    assert GeneratorConfig.of("easy").key == "easy"
    assert GeneratorConfig.of({}).key == "hard"
    assert set_name(GeneratorConfig.of("hard"), 3) == "alfworld/hard-seed3"
    listed = GeneratorConfig.of({"task_types": ["heat", "place"], "receptacles": 5})
    assert listed == GeneratorConfig(
        task_types=("pick_heat_then_place_in_recep", "pick_and_place_simple"), receptacles=[5, 5]
    )
    assert re.fullmatch(r"custom-[0-9a-f]{8}", listed.key)
    assert listed.key != GeneratorConfig(receptacles=5).key
    assert hash(listed) == hash(GeneratorConfig.of(listed))
    assert hashlib.sha256(listed.text().encode()).hexdigest().startswith(listed.key[7:])


@pytest.mark.parametrize(
    "values",
    [
        {"task_types": []},
        {"task_types": ["fly"]},
        {"task_types": ["place", "pick_and_place_simple"]},
        {"task_types": 3},
        {"rooms": ["Garage"]},
        {"rooms": ["Bathroom"]},
        {"task_types": ["heat"], "rooms": ["Bedroom"]},
        {"receptacles": 2},
        {"receptacles": (5, 4)},
        {"receptacles": True},
        {"receptacles": 4.0},
        {"receptacles": "5"},
        {"distractors": -1},
        {"distractors": (1, 2, 3)},
        {"distractors": 10**9},
        {"hidden": 1},
        {"hidden": "yes"},
        {"colour": "red"},
    ],
)
def test_bad_settings_of_the_generator_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        GeneratorConfig.of(values)


def test_bad_places_are_refused() -> None:
    with pytest.raises(TaskNotFound, match="valid_unseen"):
        generate(GeneratorConfig(), "test", 0)
    with pytest.raises(TaskNotFound, match="number"):
        generate(GeneratorConfig(), "train", -1)
    with pytest.raises(ConfigurationError, match="difficulty"):
        GeneratorConfig.of("impossible")
