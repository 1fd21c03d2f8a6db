"""ERPO trains on the bundled specifications: three worlds, one of them of chance, one judge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.policies.endpoint import Answer, ChatServer
from tests.rewards.judging import judging
from tests.trainers import toy_runs
from trainers.cli import main

WORLDS = ("accounts", "lab", "warehouse")


@pytest.mark.slow
def test_erpo_trains_on_the_bundled_specifications(
    serve: Callable[[Answer], ChatServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    server = serve(judging(lambda record: "SOUND"))
    names = ",".join(f"synth:{name}" for name in WORLDS)
    changes = {
        "env": names, "preset": "erpo", "steps": 2, "horizon": "6",
        "fit_horizon": False, "horizon_every": None,
        "sft__demonstrations": 24, "sft__max_steps": 2, "sft__eval_tasks": 4, "eval__num_tasks": 4,
        "eval__valid_tasks": 4, "eval__every": 0, "rl__groups": 3, "rl__num_generations": 2,
        "refill__groups": 0, "backend": "sync", "tiny__context": 2048,
        "rl__turn_tokens": 10, "rl__episode_tokens": 1600,
    }  # fmt: skip
    sizes = '--env-kwargs=sizes={"train": 6, "valid": 4, "test": 4}'
    # What is written costs a little, so that returns differ before anything is solved.
    judge = f"judge_mask:model=m,url={server.url},retries=0"
    hooks = ("--reward-hooks", judge, "characters:price=0.001")
    assert main(toy_runs.arguments(tmp_path / "run", sizes, *hooks, **changes)) == 0
    steps = toy_runs.by_phase(tmp_path / "run")["rl"]
    assert len(steps) == 2 and server.requests
    assert sum(step["judge_mask_asked"] for step in steps) == 2 * 6
    weights = [
        toy_runs.files(tmp_path / "run")[f"checkpoints/{name}/model.safetensors"]
        for name in ("warm-start", "trained")
    ]
    assert weights[0] != weights[1]
