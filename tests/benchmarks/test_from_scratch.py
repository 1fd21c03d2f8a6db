from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym.policies.blind import BLIND
from benchmarks.studies import from_scratch
from trainers.phases.multirun.played import PlayedRun

SETTINGS = {arm.name: arm.settings for arm in from_scratch.ARMS}


def run(folder: Path, seed: int, success: float) -> PlayedRun:
    """A run that ends at some success, after two steps and two validations."""
    folder.mkdir()
    ends: dict[str, Any] = {
        arm: {"success": success, "n": 100} for arm in ("random", "warm-start", "trained")
    }
    summary = {"eval": ends, "greedy": ends, "evaluation": {"panel_sha256": "0" * 64}}
    (folder / "summary.json").write_text(json.dumps(summary))
    records = [
        {"phase": phase, "step": step, "success": success}
        for phase, step in (("valid", 0), ("rl", 1), ("rl", 2), ("valid", 2))
    ]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return PlayedRun(folder, seed, "key")


@pytest.mark.parametrize(
    ("blind", "success", "passes"),
    [(0.3, (0.9, 0.85), True), (0.3, (0.9, 0.75), False), (0.87, (0.9, 0.85), False)],
)
def test_the_bar_is_met_above_it_and_above_blind_policies_in_every_run(
    blind: float,
    success: tuple[float, ...],
    passes: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    floor = {"policy": "blind-verbs", "success": blind, "n": 100}
    monkeypatch.setattr(from_scratch, "blind_floor", lambda settings, n: floor)
    runs = [run(tmp_path / str(seed), seed, value) for seed, value in enumerate(success)]
    figures = from_scratch.measure({"webshop": runs})
    assert figures["met"] is passes
    family = figures["families"]["webshop"]
    assert family["blind"] == floor and family["success"]["trained"]["values"] == list(success)
    assert family["curves"][0]["steps"] == [1, 2]
    assert family["curves"][0]["validated"] == [0, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "low", "high"), [("webshop", 0, 0.2), ("alfworld", 0, 0.2), ("search", 0.2, 0.7)]
)
def test_blind_policies_play_as_many_test_tasks_and_end_below_the_bar(
    family: str, low: float, high: float
) -> None:
    floor = from_scratch.blind_floor(SETTINGS[family], 20)
    assert floor["n"] == 20 and floor["policy"] in BLIND and low <= floor["success"] <= high
