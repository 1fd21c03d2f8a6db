"""All families train one policy together, through the command, also forked and with a critic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentgym.registration import FAMILIES
from tests.envs.swe.boxed import needs_box
from tests.trainers import toy_runs
from trainers.cli import main

SMALL = {
    "steps": 1, "horizon": "2", "horizon_every": None, "sft__max_steps": 0,
    "sft__demonstrations": 4, "rl__groups": 2, "rl__num_generations": 2, "rl__minibatches": 1,
    "rl__turn_tokens": 8, "rl__episode_tokens": 400, "eval__num_tasks": 1, "eval__every": 1,
    "eval__valid_tasks": 1,
    "tiny__context": 4096, "fit_horizon": False,
}  # fmt: skip


@pytest.mark.slow
@needs_box
@pytest.mark.parametrize(
    ("flags", "figure"),
    [
        (["--preset=arpo", "--forks.rule=uniform:n=1", "--forks.roots=1"], "forks"),
        (["--preset=ppo"], "explained_variance"),
    ],
)
def test_all_families_train_together(
    flags: list[str], figure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every two of them are in one run: what one does to another shows here as in a pair."""
    monkeypatch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 4)
    out, names = tmp_path / "run", [family.name for family in FAMILIES]
    changes = {**SMALL, "rl__groups": len(names), "env": ",".join(names)}
    assert main(toy_runs.arguments(out, *flags, **changes)) == 0
    (step,) = toy_runs.by_phase(out)["rl"]
    assert figure in step
    assert {name: part["episodes"] for name, part in step["families"].items()} == dict.fromkeys(
        names, 2
    )
    summary = json.loads((out / "summary.json").read_text())
    assert set(summary["families"]) == set(names) and summary["steps"] == 1
