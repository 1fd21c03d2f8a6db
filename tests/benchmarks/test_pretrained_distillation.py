"""What the study of distillation makes of its runs, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.studies import pretrained_distillation as distillation
from benchmarks.studies.runner.keys import runs_of
from benchmarks.studies.runner.measures import tokens_to
from benchmarks.studies.runner.recorded import RECORDED
from benchmarks.tables.pretrained import distillation_table
from tests.benchmarks.test_measures import write
from trainers.phases.multirun.played import PlayedRun


def run(folder: Path, seed: int, success: tuple[float, ...], held_out: float) -> PlayedRun:
    """A run that writes 100 tokens a step, validated before the first and after each."""
    valid = [
        {"phase": "valid", "step": step, "turns_total": step, "success": value, "score": value}
        for step, value in enumerate(success)
    ]
    rl = [
        {"phase": "rl", "step": step, "tokens_total": 100 * step, "turns": 1.0, "turns_total": step}
        for step in range(1, len(success))
    ]
    write(folder / "metrics.jsonl", [*valid, *rl])
    policies = {"trained": {"success": held_out}, "warm-start": {"success": 0.1}}
    write(folder / "summary.json", [{"eval": policies, "cpu_s": 90.0}])
    turn = {"prompt_tokens": 9, "completion_tokens": 1}
    episodes = [{"options": {"training_step": line["step"]}, "turns": [turn]} for line in rl]
    write(folder / "episodes.jsonl", episodes)
    return PlayedRun(folder, seed, folder.name)


def imitating(folder: Path, teacher: PlayedRun) -> PlayedRun:
    """A run that imitates a teacher whose solved episodes have 4 + 6 tokens."""
    turns = [{"completion_tokens": 4}, {"completion_tokens": 6}]
    lost = {"success": False, "turns": [{"completion_tokens": 99}]}
    recorded = [{"success": True, "turns": turns}, lost]
    write(teacher.folder / RECORDED / "episodes.jsonl", recorded)
    warm_start = [
        {"phase": "sft", "step": 3, "loss": 1.0},
        {"phase": "sft", "step": 3, "success": 0.4},
        {"phase": "sft", "step": 6, "success": 0.7},
    ]
    write(folder / "metrics.jsonl", warm_start)
    policies = {"trained": {"success": 0.0}, "warm-start": {"success": 0.75}}
    write(folder / "summary.json", [{"eval": policies, "cpu_s": 60.0}])
    return PlayedRun(folder, teacher.seed, folder.name)


@pytest.fixture
def figures(tmp_path: Path) -> dict[str, Any]:
    """Two seeds; the second has not been imitated yet, and a third has no teacher."""
    teachers = [
        run(tmp_path / "t0", 0, (0.2, 0.6, 0.8, 0.8), 0.9),
        run(tmp_path / "t1", 1, (0.2, 0.4, 0.6, 1.0), 0.8),
    ]
    students = [
        run(tmp_path / "s0", 0, (0.2, 0.9, 0.9), 0.95),
        run(tmp_path / "s1", 1, (0.2, 0.5, 0.7), 0.7),
        run(tmp_path / "s2", 2, (0.2, 0.5, 0.7), 0.7),
    ]
    runs = {
        "turn-loo": teachers,
        "on-policy": students,
        "off-policy": [imitating(tmp_path / "i0", teachers[0])],
    }
    return distillation.measure(runs)


def test_tokens_are_counted_until_a_student_is_at_its_teachers_level(
    figures: dict[str, Any],
) -> None:
    assert figures["levels"] == {0: pytest.approx(0.8), 1: pytest.approx(0.8)}
    house, student = figures["arms"]["turn-loo"], figures["arms"]["on-policy"]
    assert house["tokens_to_level"] == [pytest.approx(200), pytest.approx(250)]
    assert student["seeds"] == [0, 1]
    assert student["tokens_to_level"] == [pytest.approx(100 * 0.6 / 0.7), None]
    assert student["success"]["values"] == [0.95, 0.7]
    assert student["minus_turn_loo"]["values"] == pytest.approx([0.05, -0.1])
    at_equal = student["minus_turn_loo_at_equal_tokens"]["values"]
    assert at_equal == pytest.approx([0.9 - 0.8, 0.7 - 0.6])


def test_imitation_is_counted_in_the_tokens_that_the_teacher_wrote(figures: dict[str, Any]) -> None:
    arm = figures["arms"]["off-policy"]
    (curve,) = arm["curves"]
    assert curve["sampled"] == [0.0, 3 * 8 * 10, 6 * 8 * 10]
    assert curve["success"] == [0.2, 0.4, 0.7]
    assert arm["success"]["values"] == [0.75], "the warm start is what imitates"
    assert arm["tokens_to_level"] == [None]


def test_a_policy_that_begins_at_the_level_needs_no_tokens() -> None:
    assert tokens_to({"sampled": [0.0, 9.0], "success": [0.5, 0.4]}, 0.5) == 0.0


def test_the_table_has_a_row_for_each_arm(figures: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps(figures))
    table = {row[0]: row[1:] for row in distillation_table(str(tmp_path / "result.json"))}
    assert len(table["arm, seeds"]) == 5
    assert table["`on-policy`, 2"][2] == "86; never"
    assert table["`off-policy`, 1"] == [".750", "-.150", "never", "-.325", "1"]


def test_curves_are_drawn(figures: dict[str, Any], tmp_path: Path) -> None:
    distillation.draw(figures, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000


@pytest.mark.usefixtures("smollm2")
def test_all_that_learn_online_share_a_warm_start_and_its_sizes() -> None:
    runs = {run.arm: run for run in runs_of(distillation.STUDY.arms, [0])}
    assert len({runs[name].keys.start for name in runs if name != "off-policy"}) == 1
