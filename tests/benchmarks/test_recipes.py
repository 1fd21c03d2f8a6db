"""The study that decides on the default recipe: its arms, its choice of rates, its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.studies import recipes
from benchmarks.studies.__main__ import main
from benchmarks.studies.recipes import FAMILIES, PILOT, RATES, RECIPES
from benchmarks.tables.formats import result
from benchmarks.tables.recipes import FILE, recipes_table
from tests.benchmarks.test_measures import write
from trainers.algorithms.presets import DEFAULT, PRESETS
from trainers.phases.multirun.played import PlayedRun

FAMILY = "toy"
LOW, ONCE, HIGH = RATES


def run(folder: Path, seed: int, valid: float, test: float = 0.0, cpu: float = 1.0) -> PlayedRun:
    """A run with success on validation tasks before and after, and on test tasks."""
    points = [{"phase": "valid", "step": step, "success": step * valid} for step in (0, 1)]
    write(folder / "metrics.jsonl", [*points, {"phase": "rl", "step": 1}])
    success = {"warm-start": {"success": 0.5}, "trained": {"success": test}}
    (folder / "summary.json").write_text(json.dumps({"eval": success, "cpu_s": cpu}))
    return PlayedRun(folder, seed, folder.name)


def piloted(folder: Path, recipe: str, *valid: float) -> dict[str, list[PlayedRun]]:
    """The pilot of a recipe at its lowest rates."""
    return {
        f"{FAMILY}/{recipe}/{rate}": [run(folder / recipe / rate, PILOT, value)]
        for rate, value in zip(RATES, valid, strict=False)
    }


def test_every_preset_that_runs_by_itself_is_in_every_family_at_every_rate() -> None:
    """A preset that is added is played, too."""
    taught = {"on-policy-distillation", "self-distillation"}
    assert set(PRESETS) - set(RECIPES) == {"matpo", "erpo", "lightning", *taught}
    names = {arm.name for arm in recipes.STUDY.arms}
    assert {
        f"{family}/{preset}/{rate}"
        for family in FAMILIES
        for preset in set(PRESETS) & set(RECIPES)
        for rate in RATES
    } <= names


def test_a_dry_run_shows_the_pilot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    only = [f"family={FAMILY}", "recipe=gspo"]
    assert main(["recipes", "--dry-run", "--out", str(tmp_path), "--only", *only]) == 0
    output = capsys.readouterr().out
    assert all(f"{FAMILY}/gspo/{rate}" in output for rate in RATES)
    assert output.count(f" {PILOT} ") == 3 == output.count(" open ")


def test_the_pilot_chooses_the_rate_that_solved_most_and_of_equal_ones_the_lowest(
    tmp_path: Path,
) -> None:
    runs = {
        **piloted(tmp_path, "turn-loo", 0.2, 0.6, 0.4),
        **piloted(tmp_path, "gspo", 0.5, 0.5, 0.1),
        **piloted(tmp_path, "grpo", 0.9, 0.1),
    }
    runs[f"{FAMILY}/turn-loo/{HIGH}"].append(run(tmp_path / "seed", 0, 1.0))
    assert recipes.going_on(runs) == [f"{FAMILY}/turn-loo/{ONCE}", f"{FAMILY}/gspo/{LOW}"]


def test_recipes_are_compared_seed_by_seed_at_the_rates_that_were_chosen(tmp_path: Path) -> None:
    """By hand; the pilot's own test success is in no figure, and its seconds may be the least."""
    runs = {
        **piloted(tmp_path, "turn-loo", 0.2, 0.6, 0.4),
        **piloted(tmp_path, "gspo", 0.5, 0.2, 0.1),
    }
    for seed, (house, recipe) in enumerate([(0.5, 0.6), (0.4, 0.6), (0.9, 0.6)]):
        for name, value in ((f"turn-loo/{ONCE}", house), (f"gspo/{LOW}", recipe)):
            runs[f"{FAMILY}/{name}"].append(
                run(tmp_path / f"{name}{seed}", seed, 0.0, value, cpu=9.0)
            )
    figures = recipes.measure(runs)
    row = figures["families"][FAMILY]["recipes"]["gspo"]
    assert (row["rate"], row["pilot"], row["seeds"]) == (float(LOW), [0.5, 0.2, 0.1], [0, 1, 2])
    assert row["success"]["mean"] == pytest.approx(0.6)
    assert row["minus_turn_loo"]["values"] == pytest.approx([0.1, 0.2, -0.3])
    assert row["least_cpu_seconds"] == 1.0
    assert figures["above"] == {FAMILY: [], "all": []}, "[-.66, .66]"
    assert figures["differences"] == {"all": 1, "informative": 1, "without_zero": 0}


def test_every_recipe_that_was_played_has_a_row() -> None:
    head, *rows = recipes_table()
    families = result(FILE)["families"]
    assert len(head) == 1 + 3 * len(families) and len(families) >= 2
    assert len(rows) == len({name for family in families.values() for name in family["recipes"]})
    (house,) = [row for row in rows if row[0] == f"`{DEFAULT}`"]
    assert house[3] == house[6] == "+.000 [.000, .000]"
