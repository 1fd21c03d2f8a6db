"""Task sets: splits, ids, orders, and the official games as tasks."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.alfworld import tasks as tasks_module
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.experts import plan_length
from agentgym.envs.alfworld.generator import GeneratorConfig, generate, trial_folder
from agentgym.envs.alfworld.generator.rooms import HELD_OUT
from agentgym.envs.alfworld.tasks import (
    GameTasks,
    HouseholdTasks,
    OfficialTasks,
    by_length,
    open_tasks,
)
from agentgym.errors import ConfigurationError, DataError, TaskNotFound
from tests.envs.alfworld.data import damaged, games, shared_pack, write_pack, write_split

GOLDEN_PANEL = "a76b742c3d8353439d9b083079b5d6b1010819908fe33639a55bcf36dd138439"
TINY = GeneratorConfig(task_types=["place"], receptacles=(3, 4), distractors=1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make generated sets so small that whole splits can be looked at."""
    monkeypatch.setattr(tasks_module, "SIZES", {"train": 12, "valid_seen": 6, "valid_unseen": 6})


def test_sizes_names_and_aliases() -> None:
    tasks = HouseholdTasks("easy")
    assert tasks.splits == ("train", "valid_seen", "valid_unseen")
    assert [tasks.len(split) for split in ("train", "valid", "test")] == [4000, 500, 500]
    assert tasks.task("test", 3) == tasks.task("valid_unseen", 3)
    assert tasks.task("valid", 3).split == "valid_seen"
    assert tasks.task("train", 17).id == "alfworld/easy/train/17"
    assert HouseholdTasks("easy", seed=2).task("train", 0).id == "alfworld/easy-seed2/train/0"


def test_a_task_describes_its_game() -> None:
    tasks = HouseholdTasks("medium")
    task = tasks.task("train", 5)
    game = tasks.problem(task)
    assert game == generate(GeneratorConfig.of("medium"), "train", 5)
    assert (task.goal, task.id, task.index) == (game.goal, game.id, 5)
    assert json.loads(json.dumps(task.content)) == task.content
    assert set(task.content) == {"task_type", "scene", "problem_sha256"}
    assert tasks.find(task.id) == task
    assert tasks.problem(task) is tasks.problem(task)
    assert tasks.oracle_turns(task) == plan_length(Household.of(tasks.problem(task)))


def test_the_content_of_a_panel_is_pinned() -> None:
    assert HouseholdTasks("medium").panel("test", 50).sha256 == GOLDEN_PANEL


def test_splits_by_scene() -> None:
    tasks = HouseholdTasks("easy")
    scenes = {
        split: {str(tasks.task(split, n).content["scene"]) for n in range(200)}
        for split in tasks.splits
    }
    held_out = {f"FloorPlan{number}" for number in HELD_OUT}
    assert scenes["valid_unseen"] == held_out
    assert scenes["train"].isdisjoint(held_out) and scenes["valid_seen"].isdisjoint(held_out)


@pytest.mark.parametrize("config", ["easy", TINY])
def test_order_by_the_experts_plan(config: Any, small: None, monkeypatch: Any) -> None:
    given_order = HouseholdTasks(config)
    ordered = HouseholdTasks(config, order="oracle_turns")
    for split in ordered.splits:
        lengths = [ordered.oracle_turns(task) for task in ordered.iterate(split)]
        assert all(length is not None for length in lengths)
        assert lengths == sorted(lengths, key=lambda length: length or 0)
        digests = {task.id: task.digest() for task in ordered.iterate(split)}
        assert digests == {task.id: task.digest() for task in given_order.iterate(split)}
        for task in ordered.iterate(split):
            assert ordered.find(task.id) == task

    def forbidden(household: object) -> int:
        raise AssertionError("measured twice")

    monkeypatch.setattr(tasks_module, "plan_length", forbidden)
    reordered = HouseholdTasks(config, order="oracle_turns")
    assert [t.id for t in reordered.iterate("train")] == [t.id for t in ordered.iterate("train")]


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "foreign"])
def test_damaged_lengths_are_measured_again(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    first = [task.id for task in HouseholdTasks(TINY, order="oracle_turns").iterate("valid")]
    (path,) = tmp_path.rglob("plans-*")
    sound = path.read_bytes()
    path.write_bytes(damaged(sound, damage))
    assert [
        task.id for task in HouseholdTasks(TINY, order="oracle_turns").iterate("valid")
    ] == first
    assert path.read_bytes() == sound


def test_without_a_writable_cache_all_works(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [task.id for task in HouseholdTasks(TINY, order="oracle_turns").iterate("valid")]
    pack = write_pack(tmp_path / "train.json.gz", games(3))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "file"))
    assert [
        task.id for task in HouseholdTasks(TINY, order="oracle_turns").iterate("valid")
    ] == first
    assert OfficialTasks(pack, order="oracle_turns").len("train") == 3


def test_unknown_lengths_come_last() -> None:
    assert by_length([3, None, 1, 3, None, 2]) == [2, 5, 0, 3, 1, 4]
    assert by_length([]) == []
    assert by_length([None]) == [0]


@settings(deadline=None)
@given(st.text() | st.sampled_from(["alfworld/easy/train/", "alfworld/easy/valid/1"]).flatmap(
    lambda head: st.builds(head.__add__, st.text("0123456789-+_\u0661", max_size=8))
))  # fmt: skip
def test_find_takes_only_ids(text: str) -> None:
    tasks = HouseholdTasks("easy")
    try:
        assert tasks.find(text).id == text
    except TaskNotFound as error:
        assert "alfworld/easy/train/" in str(error)


def test_tasks_of_another_set_are_refused() -> None:
    task = HouseholdTasks("easy", seed=1).task("train", 0)
    with pytest.raises(TaskNotFound, match="settings"):
        HouseholdTasks("easy").problem(task)
    with pytest.raises(TaskNotFound, match="index"):
        HouseholdTasks("easy").task("train", 4000)


@pytest.mark.parametrize(
    "options",
    [{"seed": -1}, {"seed": True}, {"seed": [1]}, {"order": "length"}, {"order": ["oracle_turns"]}],
)
def test_bad_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        HouseholdTasks(**options)
    with pytest.raises(ConfigurationError, match="expected"):
        open_tasks(**options)


def test_sets_travel_without_what_they_keep() -> None:
    tasks = HouseholdTasks("hard")
    task = tasks.task("train", 0)
    tasks.problem(task)
    copies = [pickle.loads(pickle.dumps(tasks)), copy.deepcopy(tasks)]
    assert len(pickle.dumps(tasks)) < 2000
    assert all(copied.task("train", 0) == task for copied in copies)


def test_what_is_kept_is_bounded() -> None:
    tasks = HouseholdTasks(TINY)
    for number in range(600):
        tasks.task("train", number)
    assert 0 < len(tasks._problems) <= 256


def folder_and_pack(tmp_path: Path) -> list[GameTasks]:
    listed = sorted(games(8), key=lambda game: trial_folder(game).as_posix())
    write_split(tmp_path / "json_2.1.1" / "valid_unseen", listed)
    packs = tmp_path / "packs"
    packs.mkdir()
    write_pack(packs / "valid_unseen.json.gz", listed)
    return [OfficialTasks(tmp_path), OfficialTasks(packs)]


def test_official_games_are_tasks(tmp_path: Path) -> None:
    folder, pack = folder_and_pack(tmp_path)
    assert folder.splits == pack.splits == ("valid_unseen",)
    assert folder.aliases == {"test": "valid_unseen"}
    assert folder.panel("test", 8).sha256 == pack.panel("valid_unseen", 8).sha256
    for task in folder.iterate("test"):
        assert pack.find(task.id) == folder.find(task.id) == task
        assert pack.problem(task) == folder.problem(task)
        assert replace(pack.problem(task), id="") in [replace(game, id="") for game in games(8)]
        assert folder.oracle_turns(task) == plan_length(Household.of(folder.problem(task)))
    for name in ("train", "valid"):
        with pytest.raises(TaskNotFound, match="valid_unseen"):
            folder.len(name)
    with pytest.raises(TaskNotFound, match="official"):
        folder.find("alfworld/official/valid_unseen/none")


def test_official_ids_tell_nothing_and_names_are_still_found(tmp_path: Path) -> None:
    for tasks in folder_and_pack(tmp_path):
        for task in tasks.iterate("test"):
            name = str(task.content["official_name"])
            assert set(task.content) == {"task_type", "scene", "problem_sha256", "official_name"}
            assert name.startswith(f"{task.content['task_type']}-") and "/trial_" in name
            assert tasks.find(f"alfworld/official/valid_unseen/{name}") == task
            head, _, number = task.id.rpartition("/")
            assert head == "alfworld/official/valid_unseen"
            assert len(number) == 16 and set(number) <= set("0123456789abcdef")


def test_a_short_collection_is_noted(tmp_path: Path) -> None:
    folder, _ = folder_and_pack(tmp_path)
    folder.len("test")
    assert isinstance(folder, OfficialTasks) and "found 8 of 134" in folder.notes["valid_unseen"]


def test_official_games_of_some_types_and_in_order(tmp_path: Path) -> None:
    folder_and_pack(tmp_path)
    some = OfficialTasks(tmp_path, task_types=["heat", "two"], order="oracle_turns")
    assert some.len("test") == 2
    listed = list(some.iterate("test"))
    assert [task.content["task_type"] for task in listed] == [
        "pick_heat_then_place_in_recep",
        "pick_two_obj_and_place",
    ]
    assert [some.find(task.id) for task in listed] == listed
    unfiltered = OfficialTasks(tmp_path)
    assert {task.id for task in listed} <= {task.id for task in unfiltered.iterate("test")}
    alone = OfficialTasks(write_pack(tmp_path / "train.json.gz", games(1)), task_types=["cool"])
    with pytest.raises(DataError, match="cool"):
        alone.len("train")


def test_human_sentences(tmp_path: Path) -> None:
    folder_and_pack(tmp_path)
    human, plain_goals = OfficialTasks(tmp_path, human_goals=True), OfficialTasks(tmp_path)
    for human_task, plain_task in zip(
        human.iterate("test"), plain_goals.iterate("test"), strict=True
    ):
        assert human_task.goal == f"Do it, please: {plain_task.goal}"
        assert human_task.id == plain_task.id.replace("official", "official-human")
        assert human.problem(human_task).problem == plain_goals.problem(plain_task).problem
    packed = OfficialTasks(tmp_path / "packs", human_goals=True)
    assert packed.task("test", 0).goal == plain_goals.task("test", 0).goal


def test_open_tasks_chooses_and_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_and_pack(tmp_path)
    assert open_tasks("easy") is open_tasks(GeneratorConfig.of("easy"), {})
    changed = open_tasks("easy", {"receptacles": 7}, seed=4, order="oracle_turns")
    assert isinstance(changed, HouseholdTasks)
    assert changed.config == GeneratorConfig(receptacles=7, distractors=(2, 4), hidden=False)
    assert (changed.seed, changed.order) == (4, "oracle_turns")
    official = open_tasks(data=tmp_path, changes={"task_types": ["place"]})
    assert official.len("test") == 2
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    assert open_tasks(data="ALFWORLD_DATA").len("test") == 8
    with pytest.raises(ConfigurationError, match="hidden"):
        open_tasks(data=tmp_path, changes={"hidden": True})
    with pytest.raises(ConfigurationError, match="human_goals"):
        open_tasks(human_goals=True)
    with pytest.raises(ConfigurationError, match="expected"):
        open_tasks("easy", {"colour": 1})


@pytest.mark.parametrize("name", ["valid_seen", "valid_train"])
def test_recorded_games_are_won_by_the_expert(name: str) -> None:
    tasks = OfficialTasks(shared_pack(f"{name}.json.gz"))
    numbers = np.random.default_rng(0).permutation(tasks.len(name))[:40]
    for number in numbers:
        turns = tasks.oracle_turns(tasks.task(name, int(number)))
        assert turns is not None and 3 <= turns <= 10
