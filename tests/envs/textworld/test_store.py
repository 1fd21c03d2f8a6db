"""The cache of games: atomic, shared by processes, healing what is damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld import splits, store
from agentgym.envs.textworld.settings import settings
from agentgym.envs.textworld.store import GameStore, clear, read, root, write

GAME: dict[str, Any] = {
    "KB": {"logic": "x" * 500}, "objective": "take it", "infos": [], "metadata": {"n": [1, None]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def dealt(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Replace the generator; the list says what was made."""
    made: list[tuple[str, int]] = []

    def deal(chosen: Any, split: str, index: int) -> dict[str, Any]:
        made.append((split, index))
        return {**GAME, "objective": f"{chosen.key()} {split} {index}"}

    monkeypatch.setattr(splits, "deal", deal)
    return made


def test_a_game_is_made_once(dealt: list[tuple[str, int]]) -> None:
    first = GameStore(settings("simple")).game("test", 3)
    assert GameStore(settings("simple")).game("test", 3) == first
    assert GameStore(settings("simple", goal="brief")).game("test", 3) != first
    assert GameStore(settings("simple")).game("valid", 3) != first
    assert dealt == [("test", 3), ("test", 3), ("valid", 3)]


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-9], lambda data: data[:40] + b"?" + data[41:],
     lambda data: b"no gzip", lambda data: data[:10], lambda data: b"\x1f\x8b" + b"\0" * 30],
)  # fmt: skip
def test_damaged_games_are_made_again(damage: Any, dealt: list[tuple[str, int]]) -> None:
    games = GameStore(settings("simple"))
    first = games.game("train", 0)
    file = games.folder() / "train-0.json.gz"
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert games.game("train", 0) == first
    assert file.read_bytes() == whole
    assert len(dealt) == 2


def test_nothing_but_games_is_left(dealt: list[tuple[str, int]]) -> None:
    games = GameStore(settings("w2-o3-q4"))
    for index in range(3):
        games.game("train", index)
    names = sorted(file.name for file in games.folder().iterdir())
    assert names == [f"train-{index}.json.gz" for index in range(3)]
    assert read(games.folder() / names[0]) == games.game("train", 0)
    assert read(games.folder() / "absent") is None


def test_without_a_writable_cache_games_are_made_each_time(
    dealt: list[tuple[str, int]], cache: Path
) -> None:
    cache.write_text("a file where the folder should be")
    games = GameStore(settings("simple"))
    assert games.game("train", 0) == games.game("train", 0)
    assert len(dealt) == 2


def test_a_failed_move_leaves_no_scratch_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    assert not write(cache / "a.json.gz", GAME)
    assert not list(cache.iterdir())


def test_versions_and_rules_have_folders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    games = GameStore(settings("simple"))
    folders = {games.folder()}
    monkeypatch.setattr(store, "version", lambda: "1.7.9")
    folders.add(games.folder())
    monkeypatch.setattr(splits, "RULE", 99)
    folders.add(games.folder())
    monkeypatch.setattr(store, "FORMAT", 99)
    folders.add(games.folder())
    folders.add(GameStore(settings("simple", goal="none")).folder())
    assert len(folders) == 5


def test_long_names_of_settings_fit_in_a_file_system() -> None:
    knobs: dict[str, Any] = {"theme": "basic", "include_adj": True, "entity_numbering": True,
                             "blend_instructions": True, "blend_descriptions": True}  # fmt: skip
    assert len(GameStore(settings("w50-o50-q50", **knobs)).folder().name) < 120


def test_clear_removes_games_only(dealt: list[tuple[str, int]], cache: Path) -> None:
    GameStore(settings("simple")).game("train", 0)
    (cache / "webshop").mkdir()
    clear()
    clear()
    assert [entry.name for entry in cache.iterdir()] == ["webshop"]
    assert root() == cache / "textworld"


_WRITER = """
import sys
from agentgym.envs.textworld import splits
from agentgym.envs.textworld.settings import settings
from agentgym.envs.textworld.store import GameStore, read, write
body = {"KB": {"logic": "x" * 100000}, "list": list(range(20000))}
splits.deal = lambda chosen, split, index: dict(body, index=index)
games = GameStore(settings("simple"))
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    for index in range(3):
        file = games.folder() / f"train-{index}.json.gz"
        write(file, splits.deal(None, "train", index))
        assert read(file) == dict(body, index=index)
        assert games.game("train", index) == dict(body, index=index)
"""


def writer(rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(rounds)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip


def test_processes_may_write_the_same_game(cache: Path) -> None:
    writers = [writer(8) for _ in range(3)]
    for process in writers:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert "damaged" not in errors
    (folder,) = cache.glob("textworld/*/*")
    assert sorted(file.name for file in folder.iterdir()) == [
        f"train-{index}.json.gz" for index in range(3)
    ]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_writer_harms_nobody(cache: Path, dealt: list[tuple[str, int]]) -> None:
    process = writer(100_000)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    while not list(cache.glob("textworld/*/*/train-2.json.gz")):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    games = GameStore(settings("simple"))
    for index in range(3):
        assert games.game("train", index)["index"] == index
    assert dealt == []


def test_stories_are_compiled_when_they_are_asked_for() -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    games = GameStore(settings("w2-o3-q4"))
    game = games.game("train", 0)
    assert [file.suffix for file in games.folder().iterdir()] == [".gz"]
    path = games.story("train", 0, game)
    assert path.suffix == ".z8"
    assert json.loads(path.with_suffix(".json").read_text()) == game
    stamp = path.stat().st_mtime_ns
    assert games.story("train", 0) == path
    assert path.stat().st_mtime_ns == stamp
    path.unlink()
    assert games.story("train", 0).is_file()
