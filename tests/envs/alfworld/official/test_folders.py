"""The index of a folder: what it collects, when it is remembered and when it is made again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.envs.alfworld.generator import trial_folder
from agentgym.envs.alfworld.official import folders
from agentgym.envs.alfworld.official.folders import digest, folder_index, read_problem
from agentgym.errors import DataError
from tests.envs.alfworld.data import damaged, games, write_split, write_trial


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("AGENTGYM_CACHE", str(folder))
    return folder


@pytest.fixture
def split(tmp_path: Path) -> Path:
    return write_split(tmp_path / "data" / "valid_seen", games())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record which trials are read."""
    trials: list[str] = []
    original = folders._trial

    def recorded(folder: Path, relative: str) -> object:
        trials.append(relative)
        return original(folder, relative)

    monkeypatch.setattr(folders, "_trial", recorded)
    yield trials


@pytest.mark.parametrize("old", [False, True])
def test_both_generations_are_collected(tmp_path: Path, old: bool) -> None:
    split = write_split(tmp_path / "split", games(), old=old)
    index = folder_index(split)
    assert [entry.id for entry in index.entries] == sorted(
        trial_folder(game).as_posix() for game in games()
    )
    by_id = {trial_folder(game).as_posix(): game for game in games()}
    for entry in index.entries:
        game = by_id[entry.id]
        assert (entry.task_type, entry.scene, entry.goal) == (game.task_type, game.scene, game.goal)
        assert entry.human_goal == f"Do it, please: {game.goal}"
        assert entry.sha256 == digest(game.problem)
        assert read_problem(split, entry) == game.problem
    assert index.skipped == {}


def test_what_alfworld_leaves_out_is_left_out(split: Path) -> None:
    game, other_game = games(8)[6:]
    write_trial(split / "pick_and_place_with_movable_recep-Mug-Box-Desk-1" / "trial_1", game)
    write_trial(split / "pick_and_place_simple-AppleSliced-None-Desk-1" / "trial_1", game)
    write_trial(split / "unsolvable" / "trial_1", game, solvable=False)
    write_trial(split / "unsolvable" / "trial_2", game, solvable=None)
    unmarked = write_trial(split / "unmarked" / "trial_1", game) / "game.tw-pddl"
    unmarked.write_text(json.dumps({"pddl_problem": "", "grammar": ""}))
    (write_trial(split / "missing" / "trial_1", game) / "game.tw-pddl").unlink()
    (write_trial(split / "bare" / "trial_1", game) / "traj_data.json").unlink()
    odd = write_trial(split / "odd" / "trial_1", game) / "traj_data.json"
    odd.write_text(json.dumps({"task_type": "pick_and_fly"}))
    deep = write_trial(split / "a" / "b" / "c" / "trial_1", other_game)
    index = folder_index(split)
    assert len(index.entries) == 7
    assert deep.relative_to(split).as_posix() in {entry.id for entry in index.entries}
    assert index.skipped == {
        "movable or sliced": 2,
        "not marked solvable or unsolvable": 1,
        "of another task type": 1,
        "unsolvable": 2,
        "without game.tw-pddl": 1,
        "without traj_data.json": 1,
    }


def test_only_names_below_the_split_count(tmp_path: Path) -> None:
    split = write_split(tmp_path / "movable" / "Sliced" / "train", games(3))
    assert len(folder_index(split).entries) == 3


def test_an_unchanged_folder_is_not_read_again(split: Path, reads: list[str]) -> None:
    first = folder_index(split)
    assert reads
    reads.clear()
    assert folder_index(split) == first
    assert not reads


def test_changes_are_noticed(split: Path, reads: list[str]) -> None:
    folder_index_before = folder_index(split)
    game = games(7)[6]
    added = write_trial(split / trial_folder(game), game)
    os.utime(added.parent, ns=(1, 1))
    assert len(folder_index(split).entries) == 7
    (added / "game.tw-pddl").unlink()
    os.utime(added, ns=(2, 2))
    assert folder_index(split).entries == folder_index_before.entries
    shutil.rmtree(added.parent)
    os.utime(split, ns=(3, 3))
    assert folder_index(split) == folder_index_before


def test_a_changed_game_is_noticed_when_it_is_read(split: Path) -> None:
    entry = folder_index(split).entries[0]
    path = split / entry.id / "game.tw-pddl"
    content = json.loads(path.read_text())
    content["pddl_problem"] += " "
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="make the environment again"):
        read_problem(split, entry)
    fresh = folder_index(split).entries[0]
    assert fresh.sha256 != entry.sha256
    assert read_problem(split, fresh) == content["pddl_problem"]


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "foreign", "deep"])
def test_a_damaged_index_is_made_again(
    split: Path, cache: Path, reads: list[str], damage: str
) -> None:
    first = folder_index(split)
    (path,) = cache.rglob("index-*")
    sound = path.read_bytes()
    path.write_bytes(damaged(sound, damage))
    reads.clear()
    assert folder_index(split) == first
    assert reads and path.read_bytes() == sound
    reads.clear()
    assert folder_index(split) == first
    assert not reads


def test_without_a_writable_cache_it_still_works(
    split: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "file"))
    assert len(folder_index(split).entries) == 6


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("game.tw-pddl", "{", "cannot be read"),
        ("game.tw-pddl", "[1]", "one JSON object"),
        ("game.tw-pddl", "[" * 100_000, "cannot be read"),
        ("game.tw-pddl", '{"solvable": true}', "Your task is to"),
        ("game.tw-pddl", '{"solvable": true, "grammar": 5}', "Your task is to"),
        (
            "game.tw-pddl",
            json.dumps({"solvable": True, "grammar": '"Your task is to: go."'}),
            "PDDL problem",
        ),
        (
            "game.tw-pddl",
            json.dumps({"solvable": True, "grammar": '"Your task is to: a\u202eb."'}),
            "Your task is to",
        ),
        ("traj_data.json", "nonsense", "cannot be read"),
        ("traj_data.json", '{"task_type": 3}', "task_type"),
        ("traj_data.json", "{}", "task_type"),
    ],
)
def test_damaged_files_are_named(split: Path, name: str, content: str, expected: str) -> None:
    path = split / trial_folder(games()[2]) / name
    path.write_text(content)
    with pytest.raises(DataError, match=expected) as caught:
        folder_index(split)
    assert str(path) in str(caught.value)
    assert "alfworld-download" in str(caught.value)


def test_huge_files_are_refused(split: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym.envs.alfworld.official.gamefile.LARGEST_GAME", 100)
    with pytest.raises(DataError, match="at most 100 bytes"):
        folder_index(split)


def test_links_are_not_followed(split: Path) -> None:
    (split / "loop").symlink_to(split, target_is_directory=True)
    assert len(folder_index(split).entries) == 6
