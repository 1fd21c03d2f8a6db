"""Finding the official games in every layout, and being honest about their number."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.alfworld.engine.household import TASK_TYPES
from agentgym.envs.alfworld.generator import trial_folder
from agentgym.envs.alfworld.official.games import EXPECTED, OfficialGames, count_note
from agentgym.envs.alfworld.official.packs import Pack
from agentgym.errors import ConfigurationError, DataError, TaskNotFound
from tests.envs.alfworld.data import (
    games,
    pack_item,
    read_pack,
    shared_pack,
    write_pack,
    write_split,
)

SPLITS = ("train", "valid_seen", "valid_unseen")


def write_root(root: Path, splits: tuple[str, ...] = SPLITS, *, old: bool = False) -> Path:
    for number, split in enumerate(splits):
        write_split(root / split, games(2 + number), old=old)
    return root


def sizes(official_games: OfficialGames) -> dict[str, int]:
    return {split: len(official_games.entries(split)) for split in official_games.splits}


def test_every_layout_is_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_root(tmp_path / "data" / "json_2.1.1")
    expected = {"train": 2, "valid_seen": 3, "valid_unseen": 4}
    assert sizes(OfficialGames(tmp_path / "data")) == expected
    assert sizes(OfficialGames(str(root))) == expected
    assert sizes(OfficialGames(root / "valid_unseen")) == {"valid_unseen": 4}
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WHERE", str(tmp_path))
    assert sizes(OfficialGames()) == expected
    assert sizes(OfficialGames("$WHERE/data")) == expected
    any_folder = write_split(tmp_path / "mine", games(3))
    assert sizes(OfficialGames(any_folder)) == {"mine": 3}


def test_the_newest_version_with_games_is_taken(tmp_path: Path) -> None:
    write_root(tmp_path / "json_2.1.1", ("valid_seen",), old=True)
    write_root(tmp_path / "json_2.1.10", ("valid_seen", "valid_train"))
    write_root(tmp_path / "json_2.1.9", ("train",))
    (tmp_path / "json_2.2" / "train").mkdir(parents=True)
    (tmp_path / "logic").mkdir()
    official_games = OfficialGames(tmp_path)
    assert sizes(official_games) == {"valid_seen": 2, "valid_train": 3}
    assert "json_2.1.10" in official_games.notes["valid_seen"]


def test_packs_and_folders_of_packs(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "valid_seen.json.gz", games(3))
    write_pack(tmp_path / "train.json.gz", games(4))
    own_file = tmp_path / "own.json"
    own_file.write_text(json.dumps([pack_item(game) for game in games(2)]))
    assert sizes(OfficialGames(pack)) == {"valid_seen": 3}
    assert sizes(OfficialGames(tmp_path)) == {"train": 4, "valid_seen": 3}
    assert sizes(OfficialGames(own_file)) == {"own": 2}
    assert [game.problem for game in read_pack(pack)] == [game.problem for game in games(3)]


def test_folders_and_packs_hold_the_same_games(tmp_path: Path) -> None:
    listed = sorted(games(), key=lambda game: trial_folder(game).as_posix())
    folder = OfficialGames(write_split(tmp_path / "valid_seen", listed, old=True))
    pack = OfficialGames(write_pack(tmp_path / "valid_seen.json.gz", listed))
    for number, (entry, other_entry) in enumerate(
        zip(folder.entries("valid_seen"), pack.entries("valid_seen"), strict=True)
    ):
        assert (entry.id, entry.task_type, entry.scene, entry.goal) == (
            other_entry.id, other_entry.task_type, other_entry.scene, other_entry.goal,
        )  # fmt: skip
        assert entry.sha256 == other_entry.sha256
        assert folder.problem("valid_seen", number) == pack.problem("valid_seen", number)


def test_a_missing_full_stop_is_that_of_the_grammar(tmp_path: Path) -> None:
    items = [{**pack_item(game), "desc": game.goal.rstrip(".")} for game in games(2)]
    path = tmp_path / "train.json"
    path.write_text(json.dumps(items))
    assert [game.goal for game in read_pack(path)] == [game.goal for game in games(2)]


def test_counts_are_checked_once_with_an_honest_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = write_root(tmp_path / "json_2.1.1", ("valid_seen", "other"))
    (next((root / "valid_seen").glob("*/*")) / "game.tw-pddl").unlink()
    official_games = OfficialGames(tmp_path)
    with caplog.at_level(logging.WARNING):
        official_games.entries("valid_seen")
        official_games.entries("valid_seen")
    assert [record.getMessage() for record in caplog.records] == [
        official_games.notes["valid_seen"]
    ]
    note = official_games.notes["valid_seen"]
    assert note.startswith(f"found 1 of 140 valid_seen games in {root / 'valid_seen'}")
    assert "1 without game.tw-pddl" in note and "incomplete" in note


def test_the_official_number_needs_no_message(tmp_path: Path) -> None:
    source: Any = None
    assert [count_note(split, count, source) for split, count in EXPECTED.items()] == [""] * 4
    assert count_note("mine", 3, source) == ""
    official_games = OfficialGames(write_pack(tmp_path / "train.json.gz", games(2)))
    official_games._sources["train"].entries()
    assert "more than" in count_note("valid_seen", 141, official_games._sources["train"])


def test_nothing_to_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(ConfigurationError, match="ALFWORLD_DATA"):
        OfficialGames()
    with pytest.raises(DataError, match="nothing"):
        OfficialGames(tmp_path / "absent")
    with pytest.raises(DataError, match="alfworld-download"):
        OfficialGames(tmp_path)
    with pytest.raises(DataError, match="expected to read /dev/null"):
        OfficialGames("/dev/null")
    monkeypatch.delenv("HOME")
    with pytest.raises(DataError, match="nothing"):
        OfficialGames("~nobody-of-this-name/data")
    (tmp_path / "train").mkdir()
    official_games = OfficialGames(tmp_path)
    with pytest.raises(DataError, match="there are none"):
        official_games.entries("train")
    with pytest.raises(TaskNotFound, match="valid_seen"):
        official_games.entries("valid_seen")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not gzip",
        gzip.compress(b"{"),
        gzip.compress(b"{}"),
        gzip.compress(b"[]"),
        gzip.compress(b"[1]"),
        gzip.compress(b"[" * 100_000),
        gzip.compress(b'[{"id": "a"}]')[:-4],
    ],
    ids=["empty", "text", "cut json", "object", "no games", "number", "deep", "cut gzip"],
)
def test_damaged_packs_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "valid_seen.json.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="expected") as caught:
        OfficialGames(path).entries("valid_seen")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": ""},
        {"id": 5},
        {"id": "a\nb"},
        {"id": "a" * 10_000},
        {"desc": ""},
        {"desc": None},
        {"desc": "a\x00b"},
        {"task_type": "pick_and_fly"},
        {"pddl_problem": "hello"},
        {"pddl_problem": None},
    ],
)
def test_damaged_items_are_named(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "valid_seen.json"
    path.write_text(json.dumps([{**pack_item(games(1)[0]), **changes}]))
    with pytest.raises(DataError, match="expected") as caught:
        Pack(path)
    assert str(path) in str(caught.value)


def test_an_id_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="twice"):
        Pack(write_pack(tmp_path / "train.json.gz", games(1) * 2))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.json.gz"
    path.write_bytes(gzip.compress(b" " * 2_000_000 + b"[]"))
    monkeypatch.setattr("agentgym.envs.alfworld.official.packs.LARGEST_PACK", 1_000_000)
    with pytest.raises(DataError, match="at most 1000000 bytes"):
        Pack(path)


@pytest.mark.parametrize(("name", "count"), [("valid_seen", 140), ("valid_train", 200)])
def test_recorded_packs_are_complete(name: str, count: int) -> None:
    official_games = OfficialGames(shared_pack(f"{name}.json.gz"))
    entries = official_games.entries(name)
    assert len(entries) == count and official_games.notes == {name: ""}
    assert {entry.task_type for entry in entries} == set(TASK_TYPES)
    assert all(entry.goal.endswith(".") and entry.scene for entry in entries)
