"""Task sets of generated games and of game files."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.textworld import tasks
from agentgym.envs.textworld.games import game_set, store
from agentgym.envs.textworld.games.bundled import SIZES
from agentgym.envs.textworld.games.files import FileTasks, read_file
from agentgym.envs.textworld.games.game_set import NO_OBJECTIVE, digest
from agentgym.envs.textworld.generator.config import DEFAULT, GeneratorConfig
from agentgym.envs.textworld.generator.generate import stored_plan
from agentgym.envs.textworld.generator.splits import SEEDS
from agentgym.envs.textworld.tasks import GameTasks
from agentgym.errors import ConfigurationError, DataError, TaskNotFound

GOLDEN_PANEL = "6ecceb68c27c770511595392b18bb6732dabf3cdd56fe780d6f752f995a6c322"
GOLDEN_PANEL_OF_THE_GUIDE = "77a0fc449002dd1146d84f2689f413705bc7d9ca003f000cd1911f69ca2ae165"

_PANEL = """
from agentgym.envs.textworld.tasks import GameTasks
print(GameTasks().panel("test", 40).sha256)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))


def test_the_default_is_what_is_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: Any) -> None:
        raise AssertionError("a bundled game was generated")

    monkeypatch.setattr(store.GameStore, "game", forbidden)
    games = GameTasks()
    assert {split: games.len(split) for split in games.splits} == SIZES
    for split in games.splits:
        for index in (0, SIZES[split] - 1):
            task = games.task(split, index)
            assert task.id == f"textworld/{DEFAULT}/{SEEDS[split] + index}"
            assert (task.split, task.index) == (split, index)
            assert games.find(task.id) == task
            game = games.problem(task)
            assert task.goal == game["objective"]
            assert dict(task.content) == {
                "settings": DEFAULT, "seed": SEEDS[split] + index, "sha256": digest(game)
            }  # fmt: skip
            assert games.oracle_turns(task) == len(games.plan(task) or ())
            json.dumps(dict(task.content))


def test_panels_are_the_golden_ones_in_every_process() -> None:
    panel = GameTasks().panel("test", 40)
    assert panel.sha256 == GOLDEN_PANEL, "a game changed: raise GENERATOR_VERSION"
    assert GameTasks("w2-o3-q4").panel("test", 40).sha256 == GOLDEN_PANEL_OF_THE_GUIDE
    out = subprocess.run(
        [sys.executable, "-c", _PANEL], capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert out.stdout.strip() == GOLDEN_PANEL


def test_sizes_do_not_depend_on_what_is_bundled_or_installed() -> None:
    assert GameTasks(sizes=7).len("train") == 7
    assert GameTasks(sizes=7).len("test") == SIZES["test"]
    assert GameTasks(sizes={"test": 5000}).len("test") == 5000
    other_tasks = GameTasks("w4-o6-q8")
    assert {split: other_tasks.len(split) for split in other_tasks.splits} == tasks.SIZES
    assert GameTasks(GeneratorConfig.of("simple")).name == "textworld/simple"


def test_games_beyond_the_bundled_ones_are_generated() -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    games = GameTasks(sizes={"valid": 5000})
    task = games.task("valid", 4321)
    assert task.content["seed"] == SEEDS["valid"] + 4321
    assert GameTasks(sizes={"valid": 5000}).find(task.id) == task
    assert task.content["settings"] == DEFAULT


@pytest.mark.parametrize("challenge", ["simple", "coin_collector", "treasure_hunter", "cooking"])
def test_other_settings_are_generated(challenge: str) -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    games = GameTasks(challenge)
    task = games.task("test", 1)
    assert task.id == f"textworld/{challenge}/{SEEDS['test'] + 1}"
    assert games.oracle_turns(task) == len(stored_plan(games.problem(task)) or ())
    assert task.goal


def test_a_game_without_an_objective_still_has_a_goal() -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    assert GameTasks("simple,goal=none").task("train", 0).goal == NO_OBJECTIVE


@pytest.mark.parametrize(
    "task_id",
    ["", "textworld", "textworld/w2-o3-q4/", "textworld/w2-o3-q4/-1", "textworld/w2-o3-q4/00",
     "textworld/w2-o3-q4/2000", "textworld/w2-o3-q4/1000000100", "textworld/simple/0",
     "textworld/w2-o3-q4/9" + "9" * 5000, "textworld/w2-o3-q4/\u0661", "webshop/x/y/0"],
)  # fmt: skip
def test_unknown_ids_are_refused(task_id: str) -> None:
    with pytest.raises(TaskNotFound, match="such as textworld/w2-o3-q4/0"):
        GameTasks("w2-o3-q4").find(task_id)


def test_unknown_splits_indices_and_sizes_are_refused() -> None:
    games = GameTasks()
    for bad_input in (lambda: games.len("dev"), lambda: games.task("dev", 0)):
        with pytest.raises(TaskNotFound, match="dev"):
            bad_input()
    for index in (-1, 2000):
        with pytest.raises(TaskNotFound, match="index"):
            games.task("train", index)
    for sizes in ({"dev": 3}, {"test": 0}, -1, {"test": 10**8}, {"test": "all"}):
        with pytest.raises(ConfigurationError, match="sizes of splits"):
            GameTasks(sizes=sizes)  # type: ignore[arg-type]


def test_few_games_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game_set, "KEPT_GAMES", 3)
    monkeypatch.setattr("agentgym.core.tasks.KEPT_TASKS", 4)
    games = GameTasks()
    loaded = [games.task("train", index) for index in range(6)]
    assert len(games._problems) == 3
    assert len(games._tasks) <= 4
    game = games.problem(loaded[3])
    games.task("train", 9)
    assert games.problem(loaded[3]) is game, "the game used last was dropped"
    assert games.task("train", 0) == loaded[0]


def test_threads_share_a_task_set() -> None:
    games = GameTasks()
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda index: games.task("train", index % 20), range(200)))
    assert loaded == [GameTasks().task("train", index % 20) for index in range(200)]


def test_copies_are_equal_and_light() -> None:
    games = GameTasks()
    expected = games.task("train", 3)
    for copied in (copy.deepcopy(games), pickle.loads(pickle.dumps(games))):
        assert copied.task("train", 3) == expected
        assert copied.oracle_turns(expected) == games.oracle_turns(expected)
    assert len(pickle.dumps(games)) < 2000


def test_plan_lengths_are_asked_for_once() -> None:
    games_asked: list[Any] = []

    def plan_length(game: Any) -> int:
        games_asked.append(game)
        return 17

    games = GameTasks(plan_length=plan_length)
    task = games.task("test", 0)
    assert [games.oracle_turns(task) for _ in range(3)] == [17] * 3
    assert len(games_asked) == 1


def test_the_hash_of_a_game_is_computed_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[Any] = []
    monkeypatch.setattr(
        game_set, "digest", lambda game: digest(game) if readings else pytest.fail()
    )
    games = GameTasks()
    content = games.task("train", 5).content
    assert list(content) == ["settings", "seed", "sha256"] and "sha256" in content
    assert content["seed"] == 5 and len(content) == 3
    readings.append(True)
    expected = digest(games.problem(games.task("train", 5)))
    assert content["sha256"] == expected and content.get("sha") is None
    for copied in (copy.deepcopy(content), pickle.loads(pickle.dumps(content))):
        assert copied == dict(content) == content and type(copied) is dict
    assert expected in repr(content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twenty game files, two of them the same game."""
    place = tmp_path / "games"
    place.mkdir()
    games = GameTasks()
    for index in range(20):
        game = copy.deepcopy(games.problem(games.task("train", max(index, 1))))
        game["KB"]["text_grammars_path"] = "/somewhere/else"
        (place / f"game-{index:02d}.json").write_text(json.dumps(game))
    return place


def test_a_folder_of_games_is_split_by_content(folder: Path) -> None:
    games = FileTasks(folder)
    sizes = {split: games.len(split) for split in games.splits}
    assert sum(sizes.values()) == 20
    assert (sizes["valid"], sizes["test"]) in {(2, 2), (3, 2), (2, 3)}
    places = {task.id: task for split in games.splits for task in games.iterate(split)}
    assert len(places) == 20
    twins = [places[f"textworld/files/game-0{number}"] for number in (0, 1)]
    assert twins[0].split == twins[1].split
    assert twins[0].content["sha256"] == twins[1].content["sha256"]
    for task_id, task in places.items():
        assert games.find(task_id) == task
        assert games.oracle_turns(task) == len(games.plan(task) or ())
        assert games.problem(task)["KB"]["text_grammars_path"] == ""
    listed = FileTasks([str(file) for file in reversed(sorted(folder.iterdir()))])
    assert {task.id: task.split for task in listed.iterate("test")} == {
        task.id: task.split for task in games.iterate("test")
    }


def test_splits_of_game_files_can_be_named(folder: Path) -> None:
    files = sorted(folder.iterdir())
    named = FileTasks({"test": files[0], "train": [str(file) for file in files[1:4]]})
    assert named.splits == ("train", "test")
    assert (named.len("train"), named.len("test")) == (3, 1)
    with pytest.raises(TaskNotFound, match="valid"):
        named.len("valid")
    for part, part_files in (("train", files[:5]), ("test", files[5:7])):
        (folder / part).mkdir()
        for file in part_files:
            shutil.copy(file, folder / part)
    assert FileTasks(str(folder)).len("train") == 5
    clone = pickle.loads(pickle.dumps(named))
    assert clone.task("test", 0) == named.task("test", 0)


def test_the_story_beside_a_game_is_used(folder: Path) -> None:
    story = folder / "game-00.z8"
    story.write_bytes(b"story")
    games = FileTasks({"test": [story]})
    assert games.story(games.task("test", 0)) == story


@pytest.mark.slow
def test_a_missing_story_is_compiled_into_the_cache(folder: Path) -> None:
    pytest.importorskip("textworld", reason="needs the package textworld")
    games = FileTasks({"test": folder / "game-03.json"})
    path = games.story(games.task("test", 0))
    assert path.is_file()
    assert path == games.story(games.task("test", 0))
    assert path.parent.parent == store.root() / "files"


def test_what_is_no_game_is_refused(folder: Path, tmp_path: Path) -> None:
    good = folder / "game-00.json"
    game = json.loads(good.read_text())
    bad = tmp_path / "bad.json"
    bad_values = [
        b"",
        b"[]",
        b"3",
        b"{}",
        b"\xff",
        json.dumps({**game, "version": 2}).encode(),
        json.dumps({**game, "KB": {}}).encode(),
        json.dumps({**game, "quests": 1}).encode(),
    ]
    for data in bad_values:
        bad.write_bytes(data)
        with pytest.raises(DataError, match=r"expected a game that TextWorld wrote.*bad\.json"):
            read_file(bad)
    for source in (tmp_path / "absent.json", tmp_path / "absent.z8", [], tmp_path / "cache"):
        with pytest.raises(DataError, match="expected game files"):
            FileTasks(source)
    with pytest.raises(ConfigurationError, match="'game-00' twice"):
        FileTasks([good, good])
    for mapping in ({}, {"dev": good}):
        with pytest.raises(ConfigurationError, match="game files by split"):
            FileTasks(mapping)
    with pytest.raises(ConfigurationError, match="'game-00' twice"):
        FileTasks({"test": good, "train": good})
    with pytest.raises(TaskNotFound, match="file name without ending"):
        FileTasks({"test": good}).find("textworld/files/other")


def test_a_text_that_cannot_be_said_is_told_when_the_files_are_opened(folder: Path) -> None:
    file = folder / "game-00.json"
    game = json.loads(file.read_text())
    entity = next(info for _, info in game["infos"] if info["type"] == "o")
    entity["desc"] = "It shows [the time of day]."
    file.write_text(json.dumps(game))
    FileTasks(folder)
    with pytest.raises(DataError, match=r"game-00\.json.*\[the time of day\]"):
        FileTasks(folder, native=True)
