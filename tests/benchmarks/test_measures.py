from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.studies import horizon_map
from benchmarks.studies.runner.grid_picture import draw_grid
from benchmarks.studies.runner.measures import (
    Curve,
    at_equal,
    compared_at_equal_cost,
    count_differences,
    minus,
    spread,
    success_by_length,
    training_curve,
    training_means,
    validation_curve,
)
from trainers.phases.multirun.played import PlayedRun


def episode(step: int, length: int, won: bool, tokens: int) -> dict[str, Any]:
    turn = {"prompt_tokens": tokens - 3, "completion_tokens": 3, "success": won}
    return {
        "start": {"oracle_turns": length},
        "options": {"training_step": step},
        "extra": {"step": step},
        "turns": [{**turn, "prompt_tokens": 1, "success": False}, turn],
    }


def make_run(folder: Path, seed: int = 0, tokens: int = 10, success: float = 0.6) -> PlayedRun:
    """Three steps of two episodes with two turns each; validations after none and all of them."""
    steps = [
        {
            "phase": "rl", "step": step, "turns": 2.0, "turns_total": 4 * step,
            "tokens_total": 12 * step, "horizon": 2, "ended_by_horizon": 1 - step / 4,
            "repeat": 0.0, "success": step / 4,
        }
        for step in (1, 2, 3)
    ]  # fmt: skip
    valid = [
        {"phase": "valid", "step": step, "turns_total": 4 * step, "success": s, "score": s}
        for step, s in ((0, 0.0), (3, 0.6))
    ]
    write(folder / "metrics.jsonl", [valid[0], *steps, valid[1]])
    arms = {"random": 0.1, "warm-start": 0.2, "trained": success}
    results = {arm: {"success": value} for arm, value in arms.items()}
    write(folder / "summary.json", [{"eval": results}])
    write(folder / "episodes.jsonl", [episode(step, 2, True, tokens) for step in (1, 2, 3)] * 2)
    lengths = ((1, True), (2, False), (3, True), (9, True))
    write(
        folder / "eval_episodes" / "valid.jsonl",
        [episode(step, n, won and step > 0, 9) for step in (0, 3) for n, won in lengths],
    )
    return PlayedRun(folder, seed, f"{folder.name}")


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_a_curve_counts_turns_and_tokens_read_and_written(tmp_path: Path) -> None:
    curve = validation_curve(make_run(tmp_path))
    assert curve["turns"] == [0, 12] and curve["sampled"] == [0, 36]
    assert curve["tokens"] == [0, 3 * 2 * 10]
    assert curve["success"] == [0.0, 0.6]


def test_arms_are_read_where_the_thriftiest_ends(tmp_path: Path) -> None:
    runs = {
        "thrifty": [make_run(tmp_path / "a", tokens=10)],
        "lavish": [make_run(tmp_path / "b", tokens=40), make_run(tmp_path / "c", seed=1)],
    }
    figures = compared_at_equal_cost(runs)["at_equal"]
    assert figures["turns"]["lavish"]["values"] == [0.6]  # seed 1 has one arm only
    assert figures["tokens"]["thrifty"]["mean"] == 0.6
    assert figures["tokens"]["lavish"]["mean"] == pytest.approx(0.6 / 4)


def test_curves_are_interpolated_between_points() -> None:
    curves: list[Curve] = [
        {"turns": [0, 10], "success": [0, 1]},
        {"turns": [0, 4], "success": [0, 0.5]},
    ]
    assert at_equal(curves, "turns") == [0.4, 0.5]


def test_differences_are_taken_seed_by_seed(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"a{seed}", seed, success=0.5) for seed in (0, 1)]
    other_runs = [make_run(tmp_path / f"b{seed}", seed, success=0.25 * seed) for seed in (1, 2)]
    difference = minus(runs, other_runs)
    assert difference is not None and difference["values"] == [0.25]
    assert minus(runs, other_runs[1:]) is None


def test_the_map_counts_differences_that_say_something(tmp_path: Path) -> None:
    successes = {
        "short": (0.3, 0.8, 0.5),
        "long": (0.5, 0.6, 0.55),
        "growing": (0.75, 0.85, 0.82),
        "gated": (0.5, 0.6, 0.55),  # the same as long
        "growing-fit": (0.75, 0.85, 0.82),  # the same as growing
    }
    runs = {
        f"weak/mixed/{schedule}": [
            make_run(tmp_path / f"{schedule}{seed}", seed, success=success)
            for seed, success in enumerate(values)
        ]
        for schedule, values in successes.items()
    }
    counts = horizon_map.measure(runs)["differences"]
    assert counts == {"all": 4, "informative": 2, "without_zero": 1}


def test_a_difference_of_one_seed_says_nothing(tmp_path: Path) -> None:
    difference = minus([make_run(tmp_path / "a")], [make_run(tmp_path / "b", success=0.1)])
    cells = [{"short": difference, "growing": None}]
    assert count_differences(cells) == {"all": 1, "informative": 0, "without_zero": 0}


def test_success_is_split_by_the_length_of_plans(tmp_path: Path) -> None:
    curves = success_by_length(make_run(tmp_path), (2, 4))
    assert curves == {
        "1-2": {"turns": [0, 12], "success": [0.0, 0.5]},
        "3-4": {"turns": [0, 12], "success": [0.0, 1.0]},
    }


def test_training_is_followed_in_parts(tmp_path: Path) -> None:
    curve = training_curve(make_run(tmp_path), 2)
    assert curve["turns"] == [4, 12]
    assert curve["ended_by_horizon"] == [0.75, pytest.approx(0.375)]
    # 20 tokens over half an episode; then 40 over two and a half
    assert curve["tokens_per_success"] == [40, 16]


def test_training_as_one_mean(tmp_path: Path) -> None:
    means = training_means([make_run(tmp_path), make_run(tmp_path)])
    curve = training_curve(make_run(tmp_path), 1)
    assert means["ended_by_horizon"] == pytest.approx(curve["ended_by_horizon"][0])
    assert means["tokens_per_success"] == pytest.approx(curve["tokens_per_success"][0])


def test_one_value_has_no_interval() -> None:
    assert spread([0.5]) == {"mean": 0.5, "std": None, "ci95": None, "values": [0.5]}
    assert spread([0.4, 0.6])["ci95"] is None
    assert spread([0.4, 0.6, 0.5])["ci95"][0] < 0.4


def test_a_grid_is_drawn_with_cells_that_were_not_played(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    arm = {
        "warm_start": spread([0.1]), "success": spread([0.3, 0.5]),
        "training": [training_curve(run, 2)],
    }  # fmt: skip
    result = {
        "rows": ["weak", "strong"],
        "columns": ["short", "long"],
        "schedules": ["short", "growing"],
        "cells": {
            "weak/short": {"schedules": {"growing": arm}},
            "strong/long": {"schedules": {"short": arm}},
        },
    }
    draw_grid(result, tmp_path / "grid.png")
    assert (tmp_path / "grid.png").stat().st_size > 5000
