"""Every two families train one policy together, through the command."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from agentgym.registration import FAMILIES
from tests.envs.swe.boxed import needs_box
from tests.trainers import toy_runs
from trainers.cli import main

PAIRS = [
    pytest.param(pair, id="-".join(pair), marks=[needs_box] if "swe" in pair else [])
    for pair in combinations((family.name for family in FAMILIES), 2)
]
SMALL = {
    "steps": 1, "horizon": "2", "horizon_every": None, "sft__max_steps": 0,
    "sft__demonstrations": 4, "rl__groups": 2, "rl__group_size": 2, "rl__minibatches": 1,
    "rl__turn_tokens": 8, "rl__episode_tokens": 400, "eval__tasks": 1, "eval__every": 1,
    "eval__valid_tasks": 1,
    "tiny__context": 4096, "fit_horizon": False,
}  # fmt: skip


def test_all_pairs_are_here() -> None:
    assert len(PAIRS) == 10


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_two_families_train_together(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 4)
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, **SMALL, env=",".join(pair))) == 0
    (step,) = toy_runs.by_phase(out)["rl"]
    assert {name: part["episodes"] for name, part in step["families"].items()} == dict.fromkeys(
        pair, 2
    )
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["families"]) == set(pair) and summary["steps"] == 1
