"""The cache of games: atomic, shared by processes, healing what is damaged."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld.games import store
from agentgym.envs.textworld.games.store import GameStore, clear, read, root, write
from agentgym.envs.textworld.generator import splits
from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.original.inform7 import InformSession
from agentgym.errors import EnvFailure

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
    calls: list[tuple[str, int]] = []

    def make_split_game(config: Any, split: str, index: int) -> dict[str, Any]:
        calls.append((split, index))
        return {**GAME, "objective": f"{config.key()} {split} {index}"}

    monkeypatch.setattr(splits, "make_split_game", make_split_game)
    return calls


def test_a_game_is_made_once(dealt: list[tuple[str, int]]) -> None:
    first = GameStore(GeneratorConfig.of("simple")).game("test", 3)
    assert GameStore(GeneratorConfig.of("simple")).game("test", 3) == first
    assert GameStore(GeneratorConfig.of("simple", goal="brief")).game("test", 3) != first
    assert GameStore(GeneratorConfig.of("simple")).game("valid", 3) != first
    assert dealt == [("test", 3), ("test", 3), ("valid", 3)]


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", lambda data: data[:-9], lambda data: data[:40] + b"?" + data[41:],
     lambda data: b"no game", lambda data: data[:10], lambda data: data + b"\0",
     lambda data: data[:-5] + b"?" + data[-4:]],
)  # fmt: skip
def test_damaged_games_are_made_again(damage: Any, dealt: list[tuple[str, int]]) -> None:
    games = GameStore(GeneratorConfig.of("simple"))
    first = games.game("train", 0)
    file = games.folder() / "train-0.game"
    content = file.read_bytes()
    file.write_bytes(damage(content))
    assert games.game("train", 0) == first
    assert file.read_bytes() == content
    assert len(dealt) == 2


def test_nothing_but_games_is_left(dealt: list[tuple[str, int]]) -> None:
    games = GameStore(GeneratorConfig.of("w2-o3-q4"))
    for index in range(3):
        games.game("train", index)
    names = sorted(file.name for file in games.folder().iterdir())
    assert names == [f"train-{index}.game" for index in range(3)]
    assert read(games.folder() / names[0]) == games.game("train", 0)
    assert read(games.folder() / "absent") is None


def test_without_a_writable_cache_games_are_made_each_time(
    dealt: list[tuple[str, int]], cache: Path
) -> None:
    cache.write_text("a file where the folder should be")
    games = GameStore(GeneratorConfig.of("simple"))
    assert games.game("train", 0) == games.game("train", 0)
    assert len(dealt) == 2


def test_a_game_of_another_place_is_not_taken_for_this_one(dealt: list[tuple[str, int]]) -> None:
    games = GameStore(GeneratorConfig.of("simple"))
    games.game("train", 0)
    (games.folder() / "train-0.game").rename(games.folder() / "train-1.game")
    assert games.game("train", 1)["objective"] == "simple train 1"


def test_a_failed_move_leaves_no_scratch_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", refuse)
    assert not write(cache / "a.game", GAME)
    assert not list(cache.iterdir())


def test_versions_and_rules_have_folders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    games = GameStore(GeneratorConfig.of("simple"))
    folders = {games.folder()}
    monkeypatch.setattr(store, "version", lambda: "1.7.9")
    folders.add(games.folder())
    monkeypatch.setattr(splits, "GENERATOR_VERSION", 99)
    folders.add(games.folder())
    monkeypatch.setattr(store, "FORMAT", 99)
    folders.add(games.folder())
    folders.add(GameStore(GeneratorConfig.of("simple", goal="none")).folder())
    assert len(folders) == 5


def test_long_names_of_settings_fit_in_a_file_system() -> None:
    parameters: dict[str, Any] = {"theme": "basic", "include_adj": True, "entity_numbering": True,
                             "blend_instructions": True, "blend_descriptions": True}  # fmt: skip
    assert len(GameStore(GeneratorConfig.of("w50-o50-q50", **parameters)).folder().name) < 120


def test_clear_removes_the_games_of_a_setting_or_all(
    dealt: list[tuple[str, int]], cache: Path
) -> None:
    simple, coins = (GameStore(GeneratorConfig.of(name)) for name in ("simple", "coin_collector"))
    for games in (simple, coins):
        games.game("train", 0)
    simple.clear()
    simple.clear()
    assert not simple.folder().exists() and coins.folder().exists()
    (cache / "webshop").mkdir()
    clear()
    clear()
    assert [entry.name for entry in cache.iterdir()] == ["webshop"]
    assert root() == cache / "textworld"


_WRITER = """
import sys
from agentgym.envs.textworld.generator import splits
from agentgym.envs.textworld.original.inform7 import InformSession
from agentgym.envs.textworld.generator.config import GeneratorConfig
from agentgym.envs.textworld.games.store import GameStore, read, write
body = {"KB": {"logic": "x" * 100000}, "list": list(range(20000))}
splits.make_split_game = lambda chosen, split, index: dict(body, index=index)
games = GameStore(GeneratorConfig.of("simple"))
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    for index in range(3):
        file = games.folder() / f"train-{index}.game"
        write(file, splits.make_split_game(None, "train", index))
        assert read(file) == dict(body, index=index)
        assert games.game("train", index) == dict(body, index=index)
"""


def writer(rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(rounds)], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip


@pytest.mark.slow
def test_processes_may_write_the_same_game(cache: Path) -> None:
    writers = [writer(8) for _ in range(3)]
    for process in writers:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert "damaged" not in errors
    (folder,) = cache.glob("textworld/*/*")
    assert sorted(file.name for file in folder.iterdir()) == [
        f"train-{index}.game" for index in range(3)
    ]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_writer_leaves_other_processes_intact(
    cache: Path, dealt: list[tuple[str, int]]
) -> None:
    process = writer(100_000)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    while not list(cache.glob("textworld/*/*/train-2.game")):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    games = GameStore(GeneratorConfig.of("simple"))
    for index in range(3):
        assert games.game("train", index)["index"] == index
    assert dealt == []


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any, Path], Path]:
    """A compiler that remembers what it has compiled, and is asked anew by every test."""
    compile_story, folder = store.compile_game, tmp_path_factory.mktemp("compiled")
    stories: dict[str, Path] = {}

    def compile_game(game: dict[str, Any], path: Path) -> Path:
        key = json.dumps(game)
        if key not in stories:
            stories[key] = compile_story(game, folder / f"{len(stories)}.z8")
        for ending in (".z8", ".json"):
            shutil.copyfile(stories[key].with_suffix(ending), path.with_suffix(ending))
        return path

    return compile_game


@pytest.fixture
def real(cache: Path, compiled: Any, monkeypatch: pytest.MonkeyPatch) -> GameStore:
    pytest.importorskip("textworld", reason="needs the package textworld")
    monkeypatch.setattr(store, "compile_game", compiled)
    return GameStore(GeneratorConfig.of("w2-o3-q4"))


@pytest.mark.slow
def test_stories_are_compiled_when_they_are_asked_for(
    real: GameStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = real.game("train", 0)
    assert [file.suffix for file in real.folder().iterdir()] == [".game"]
    path = real.story("train", 0, game)
    assert path.suffix == ".z8"
    assert json.loads(path.with_suffix(".json").read_text()) == game
    stamp = path.stat().st_mtime_ns
    monkeypatch.setattr(store, "compile_game", refuse)
    assert real.story("train", 0) == path
    assert path.stat().st_mtime_ns == stamp


@pytest.mark.slow
def test_damaged_stories_are_compiled_again(real: GameStore) -> None:
    game = real.game("train", 0)
    path = real.story("train", 0, game)
    content = path.read_bytes()
    for file in (path, path.with_suffix(".json"), path.with_name("manifest.json")):
        file.write_bytes(file.read_bytes()[:-3] + b"???")
        assert real.story("train", 0, game) == path and path.read_bytes()[-4096:] == content[-4096:]
        InformSession(path).start()
    path.unlink()
    assert real.story("train", 0, game).is_file()
    assert not [entry for entry in real.folder().iterdir() if entry.name.startswith(".")]


@pytest.mark.slow
@pytest.mark.parametrize("obstacle", ["file", "read-only", "full"])
def test_a_cache_that_cannot_be_written_is_no_obstacle(
    real: GameStore, cache: Path, obstacle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = real.game("train", 0)
    clear()
    if obstacle == "file":
        shutil.rmtree(cache)
        cache.write_text("a file where the folder should be")
    elif obstacle == "read-only":
        refuse_writing(monkeypatch, cache, errno.EROFS)
    else:
        refuse_writing(monkeypatch, cache, errno.ENOSPC)
    path = real.story("train", 0, game)
    assert not path.is_relative_to(cache)
    stamp = path.stat().st_mtime_ns
    assert real.story("train", 0, game) == path and path.stat().st_mtime_ns == stamp
    session = InformSession(path)
    assert session.start()
    session.close()


def refuse_writing(monkeypatch: pytest.MonkeyPatch, folder: Path, code: int) -> None:
    """Let the system refuse to make anything in a folder; root may write everywhere."""
    make = os.mkdir

    def mkdir(path: Any, *args: Any, **more: Any) -> None:
        if Path(path).is_relative_to(folder):
            raise OSError(code, os.strerror(code), str(path))
        make(path, *args, **more)

    monkeypatch.setattr(os, "mkdir", mkdir)


@pytest.mark.slow
def test_no_room_anywhere_is_said(real: GameStore, monkeypatch: pytest.MonkeyPatch) -> None:
    game = real.game("train", 0)
    monkeypatch.setattr(store, "save_folder", lambda *_: False)
    with pytest.raises(EnvFailure, match="AGENTGYM_CACHE or TMPDIR"):
        real.story("train", 0, game)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(EnvFailure, match="engine='native'"):
        real.story("train", 0, game)


def refuse(*_: Any, **__: Any) -> None:
    raise OSError("disk full")


@pytest.mark.slow
def test_without_a_home_games_are_made_and_kept(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items()
           if name not in ("HOME", "AGENTGYM_CACHE", "XDG_CACHE_HOME")}  # fmt: skip
    code = ("import os, pwd\n"
            "def nobody(uid): raise KeyError(uid)\n"
            "pwd.getpwuid = nobody\n"
            "from agentgym.envs.textworld.env import TextWorldEnv\n"
            "env = TextWorldEnv(engine='inform7')\n"
            "assert env.reset(seed=0)[0]; env.close()\n")  # fmt: skip
    pytest.importorskip("textworld", reason="needs the package textworld")
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**env, "TMPDIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
