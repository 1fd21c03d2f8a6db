"""The native engine and the real one side by side, through the core of the parity benchmark."""

from __future__ import annotations

import gzip
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentgym.envs.alfworld.engine.household import TASK_TYPES, Game
from agentgym.envs.alfworld.generator import GeneratorConfig, generate
from tests.envs.alfworld.data import find_pack, read_pack
from tests.envs.alfworld.tiny import IMPOSSIBLE, PLAN, TINY, needs_alfworld

pytestmark = needs_alfworld
BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
SCRIPT = BENCHMARKS / "alfworld_parity.py"


@pytest.fixture(scope="module")
def duel() -> Iterator[ModuleType]:
    """The core of the benchmark, a script that imports what lies beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("alfworld_duel")


def check(duel: ModuleType, game: Game, policy: str) -> None:
    """Play a game in both engines; nothing may differ, and the expert must win."""
    with duel.Arena(policy, steps=8) as arena:
        arena.play(game)
    report = arena.tally.report()
    assert report["good"], report["examples"]
    assert report["oracle_wins"] == 1 and report["steps"] > 3


@pytest.mark.parametrize("number", range(len(TASK_TYPES)))
def test_generated_games(number: int, duel: ModuleType) -> None:
    """Every task type once; sizes and policies take turns, as each engine is the same for all."""
    config, policy = ("medium", "onward") if number % 2 else ("easy", "mixed")
    check(duel, generate(GeneratorConfig.of(config), "valid_seen", number), policy)


@cache
def real_games() -> dict[str, list[Game]]:
    """Read the official games that are here, by task type, smallest first."""
    games_by_type: dict[str, list[Game]] = {}
    for path in (find_pack(f"{name}.json.gz") for name in ("valid_seen", "valid_train")):
        for game in () if path is None else read_pack(path):
            games_by_type.setdefault(game.task_type, []).append(game)
    return {
        kind: sorted(games, key=lambda g: len(g.problem)) for kind, games in games_by_type.items()
    }


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_official_games(task_type: str, duel: ModuleType) -> None:
    policy = "onward" if TASK_TYPES.index(task_type) % 2 else "oracle"
    games = real_games().get(task_type)
    if not games:
        pytest.skip("needs official games: set AGENTGYM_TEST_DATA to the folder with alfworld/")
    check(duel, games[policy == "oracle"], policy)


# -- does the comparison see what it should? ------------------------------------------------------


def wrong(duel: ModuleType, monkeypatch: pytest.MonkeyPatch, **changed: Any) -> dict[str, Any]:
    """Play the tiny game with a native session that answers wrongly; return the report."""
    original: Any = duel.HouseholdSession
    monkeypatch.setattr(duel, "HouseholdSession", type("Wrong", (original,), changed))
    with duel.Arena("mixed", steps=4) as arena:
        arena.play(TINY)
    report: dict[str, Any] = arena.tally.report()
    assert not report["good"]
    return report


def test_the_tiny_game_is_equal(duel: ModuleType) -> None:
    check(duel, TINY, "mixed")


def test_a_wrong_text_is_seen(duel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    original: Any = duel.HouseholdSession
    report = wrong(duel, monkeypatch, intro=lambda self: original.intro(self) + " ")
    assert report["mismatches"] == {"text": 2, "reward": 0, "done": 0, "admissible": 0}
    (example,) = report["examples"]
    assert example["game"] == TINY.id and example["command"] == "(reset)"
    assert example["native"] != example["real"]


def test_a_wrong_end_is_seen(duel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    original: Any = duel.HouseholdSession
    report = wrong(duel, monkeypatch, step=lambda s, c: (original.step(s, c)[0], 0.5, False))
    counts = report["mismatches"]
    assert counts["reward"] == report["steps"] > 0 < counts["done"] and counts["text"] == 0


def test_a_wrong_list_is_seen(duel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    original: Any = duel.HouseholdSession
    report = wrong(duel, monkeypatch, admissible=lambda self: original.admissible(self)[::-1])
    assert report["mismatches"]["admissible"] == report["steps"] + 2


def test_a_failure_is_counted(duel: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    report = wrong(duel, monkeypatch, step=lambda self, command: 1 / 0)
    assert report["games"]["failed_native"] == 1 and report["games"]["compared"] == 0
    assert "ZeroDivisionError" in report["examples"][0]["error"]


@pytest.mark.parametrize("plan", [None, (), PLAN[:2], ("sit down",)])
def test_a_lost_game_is_counted(
    plan: tuple[str, ...] | None, duel: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel.oracle, "plan", lambda session: plan)
    with duel.Arena("oracle") as arena:
        arena.play(TINY)
        assert arena.tally.games["lost"] == 1 and not arena.tally.good
        arena.play(TINY, solvable=False)
    assert arena.tally.games["unsolvable"] == (plan is None)


def test_a_full_hand_that_nothing_takes_from_is_a_dead_end(duel: ModuleType) -> None:
    rules = ("(canContain DeskType MugType)", "(canContain DrawerType MugType)")
    homeless = TINY.problem.replace(rules[0], "").replace(rules[1], "")
    for problem, expected in ((TINY.problem, False), (homeless, True)):
        session = duel.HouseholdSession(duel.Household.of(replace(TINY, problem=problem)))
        assert not duel.stuck(session)
        for command in PLAN[:2]:
            session.step(command)
        assert duel.stuck(session) is expected


@pytest.mark.parametrize("game", [IMPOSSIBLE, replace(TINY, id="torn", problem=TINY.problem[:99])])
def test_an_unplayable_game_is_counted(game: Game, duel: ModuleType) -> None:
    with duel.Arena() as arena:
        for played_game in (game, TINY):
            arena.play(played_game)
    assert arena.tally.games["unsolvable"] == arena.tally.games["compared"] == 1
    assert arena.tally.good


def test_a_game_that_only_the_real_engine_refuses_is_counted(
    duel: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duel.oracle, "plan", lambda session: PLAN)
    with duel.Arena() as arena:
        arena.play(IMPOSSIBLE)
    assert arena.tally.games["failed_real"] == 1 and not arena.tally.good


# -- the script -----------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the script; return its exit code and what it printed."""
    command = [sys.executable, str(SCRIPT), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.stdout, process.stderr
    return process.returncode, json.loads(process.stdout)


def test_the_script_plays_a_pack(tmp_path: Path) -> None:
    record = {"id": "a", "task_type": TINY.task_type, "scene": 7, "desc": TINY.goal,
              "pddl_problem": TINY.problem, "pddl_params": {}}  # fmt: skip
    records = [record, {"id": "lacks all"}]
    pack = tmp_path / "games.json.gz"
    with gzip.open(pack, "wt") as stream:
        json.dump(records, stream)
    code, result = run("--games", str(pack), "--steps", "5", "--worker")
    assert code == 0 and result["good"], result
    counts = result["games"]
    assert (counts["played"], counts["compared"], counts["unsolvable"]) == (2, 1, 1)
    assert result["ratio"] > 1 and result["clock"] == "wall time"


def test_nothing_compared_is_an_error(tmp_path: Path) -> None:
    code, result = run("--games", str(tmp_path / "absent.json.gz"))
    assert code == 1 and "absent.json.gz" in result["error"]
