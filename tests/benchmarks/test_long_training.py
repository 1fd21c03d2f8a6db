from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.long_training import describe_end, divide
from trainers.output.run_folder import RunFolder


def sample(seconds: float, start: int, step: int, cpu: float, **of: float) -> dict[str, Any]:
    held = {"megabytes": 500, "descriptors": 9, "threads": 3, "files": 20, "folder_megabytes": 1}
    return {"seconds": seconds, "start": start, "step": step, "cpu_seconds": cpu, **held, **of}


def test_parts_follow_the_clock_of_the_samples_over_a_kill() -> None:
    samples = [
        sample(20, 1, 0, 15.0),
        sample(40, 1, 2, 30.0),
        sample(55, 1, 4, 34.0, megabytes=700),
        sample(70, 2, 3, 9.0),  # killed, and resumed from the checkpoint of step 3
        sample(90, 2, 5, 13.0, descriptors=11),
        sample(110, 2, 6, 15.0),
        sample(118, 2, 6, 29.0),  # held-out tests
    ]
    rl = [{"phase": "rl", "step": n, "seconds": 2.0 * n, "turns_total": 50 * n} for n in range(7)]
    valid: list[dict[str, Any]] = [{"phase": "valid", "step": 4}]
    solved = {0: {"a": False}, 4: {"a": True, "b": False}, 6: {"a": True, "b": True}}
    early, late = divide(samples, rl[1:] + valid, solved, length=60)
    assert (early["minutes"], early["starts"], early["step"]) == (1, 1, 4)
    assert (late["minutes"], late["starts"], late["step"]) == (2, 2, 6)
    assert (early["success"], late["success"]) == (0.5, 1.0)
    assert early["ci95"][0] < 0.5 < early["ci95"][1] and late["ci95"][0] < late["ci95"][1] == 1
    assert (early["seconds_a_step"], late["seconds_a_step"]) == (5.0, 11.0)
    assert early["cpu_seconds_a_step"] == late["cpu_seconds_a_step"] == 2.0
    assert early["cpu_milliseconds_a_turn"] == late["cpu_milliseconds_a_turn"] == pytest.approx(40)
    assert (early["megabytes"], late["megabytes"], late["descriptors"]) == (700, 500, 11)


def test_a_warm_start_has_no_figures_of_steps() -> None:
    (row,) = divide([sample(20, 1, 0, 15.0)], [], {}, length=60)
    assert row["validations"] == 0 and "seconds_a_step" not in row and row["files"] == 20


def test_the_end_of_a_training_has_its_test_tasks(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert describe_end(run) == {}
    trained = {"success": 0.9, "success_ci95": [0.8, 1.0], "n": 60}
    summary = {
        "commit": "c0ffee", "steps": 8, "cpu_s": 90.0, "chosen": {"step": 5},
        "eval": {"warm-start": {"success": 0.3}, "trained": trained},
        "greedy": {"trained": {"success": 0.95}},
    }  # fmt: skip
    run.summary_path.write_text(json.dumps(summary))
    figures = describe_end(run)
    assert (figures["steps"], figures["chosen_step"], figures["cpu_minutes"]) == (8, 5, 1.5)
    assert figures["test"] == {"warm-start": 0.3, "trained": 0.9}
    assert (figures["test_tasks"], figures["test_greedy"]) == (60, 0.95)
