"""Every check passes a sound environment and fails one with the defect that it is there for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym.certification import CHECKS, CheckResult, Status, certify
from tests.certification import drawers

DEFECTS: dict[str, type[drawers.DrawersEnv]] = {
    "unique_ids": drawers.SameId,
    "disjoint_splits": drawers.SharedTasks,
    "near_duplicates": drawers.NearTasks,
    "seed_control": drawers.DeafToSeeds,
    "expert": drawers.Hopeless,
    "idle": drawers.PaysNothingDone,
    "again": drawers.Instances,
    "other_order": drawers.Remembers,
    "interleaved": drawers.Shares,
    "abandoned": drawers.LeavesHalf,
    "other_randomness": drawers.GlobalDice,
    "process": drawers.OwnProcess,
    "hash_seed": drawers.SetOrder,
    "replays": drawers.ChangingDetails,
    "rescores": drawers.ChangingTerms,
    "forks": drawers.ForgetsForks,
    "worthless_answers": drawers.PaysAnyText,
    "unbroken": drawers.Breaks,
    "bounded_memory": drawers.Hoards,
    "closed": drawers.LeavesFiles,
    "timing": drawers.SlowIfRight,
    "transcriber": drawers.NamesColour,
    "task_ids": drawers.ColourInId,
    "blind": drawers.AlwaysAmber,
    "adversarial_floor": drawers.AlwaysAmber,
    "gameability_gap": drawers.AlwaysAmber,
    "headroom": drawers.AnyColour,
    "reward_reachability": drawers.OnlyExperts,
    "difficulty_separation": drawers.AnyColour,
    "reward_variance": drawers.AnyColour,
    "immutable_version": drawers.DrawersEnv,
    "cross_host": drawers.DrawersEnv,
    "other_python": drawers.OwnProcess,
    "http": drawers.OwnProcess,
    "openenv": drawers.OwnProcess,
    "mcp": drawers.OwnProcess,
    "training_signal": drawers.DrawersEnv,
}
"""The table of defects: each check, and an environment that has what it is to detect."""
SLOW = {
    "process", "hash_seed", "other_python", "http", "openenv", "mcp", "reward_variance", "blind",
    "adversarial_floor", "gameability_gap", "headroom", "reward_reachability",
    "difficulty_separation",
}  # fmt: skip
MARKED = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in CHECKS]


def run_one(check: str, kind: type[drawers.DrawersEnv], **settings: Any) -> CheckResult:
    [result] = certify(drawers.register(kind), [check], num_tasks=24, **settings).results
    return result


def settings_of(check: str, folder: Path, *, sound: bool) -> dict[str, Any]:
    """Return what a check needs besides the environment."""
    if check == "other_python":
        return {"python": [sys.executable]}
    if check == "training_signal":
        low = 0.1 if sound else -0.1
        entry = {"n": 64, "success_mean": 0.2, "success_ci95": [low, 0.3]}
        text = json.dumps({"paired": {"trained_minus_warm_start": entry}})
        (folder / "summary.json").write_text(text)
        return {"training": folder}
    if check in ("immutable_version", "cross_host"):
        name = drawers.register(drawers.DrawersEnv)
        earlier = certify(name, ["again"], num_tasks=24).to_dict()
        changed = {} if sound else {"panel_sha256": "0" * 64, "episodes_sha256": "0" * 64}
        file = folder / "certificate.json"
        file.write_text(json.dumps({**earlier, "machine": {"system": "another"}, **changed}))
        return {"earlier": file}
    return {}


@pytest.fixture(autouse=True)
def counted_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count turns in place of processor time, which a busy machine stretches."""
    monkeypatch.setattr(
        "agentgym.certification.bounds.time.thread_time", lambda: drawers.DrawersEnv.work
    )


def test_every_check_has_a_defect() -> None:
    assert list(DEFECTS) == list(CHECKS)


@pytest.mark.parametrize("check", MARKED)
def test_a_defect_is_detected(check: str, tmp_path: Path) -> None:
    if check == "openenv":
        pytest.importorskip("openenv")
    result = run_one(check, DEFECTS[check], **settings_of(check, tmp_path, sound=False))
    assert result.status is Status.FAIL, result
    assert result.check == check and result.n and result.summary


@pytest.mark.parametrize("check", MARKED)
def test_a_sound_environment_passes(check: str, tmp_path: Path) -> None:
    if check == "openenv":
        pytest.importorskip("openenv")
    result = run_one(check, drawers.DrawersEnv, **settings_of(check, tmp_path, sound=True))
    assert result.status is Status.PASS, result
    assert result.n and result.summary and not result.evidence


def test_equal_seeds_count_too() -> None:
    result = run_one("seed_control", drawers.SeededByNothing)
    assert result.status is Status.FAIL and "seed 0: " in result.evidence[0]
