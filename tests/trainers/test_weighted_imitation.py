"""``--sft.weights advantage`` through the command: what did better is imitated more often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainers import toy_runs
from trainers.cli import main
from trainers.output.run_checkpoints import FINISHED

QUICK: dict[str, Any] = {
    "env": toy_runs.TAUGHT_ID, "env_kwargs": "expert=wavering", "steps": 1, "sft__max_steps": 12,
    "sft__copy_steps": 1, "eval__every": 0, "eval__num_tasks": 2, "rl__groups": 1,
    "rl__num_generations": 2,
    "horizon": "5", "horizon_every": None,
}  # fmt: skip


def warm_start(out: Path, *flags: str) -> dict[str, torch.Tensor]:
    """What imitates a demonstrator who solves every second task, through the command."""
    assert main(toy_runs.arguments(out, *flags, **QUICK)) == 0
    return load_file(out / "checkpoints" / FINISHED / "model.safetensors")


@pytest.mark.slow
def test_weights_and_their_temperature_change_what_is_learnt(tmp_path):
    flags = {
        "alike": [],
        "advantage": ["--sft.weights=advantage"],
        "colder": ["--sft.weights=advantage", "--sft.beta=0.1"],
        "again": ["--sft.weights=advantage", "--sft.beta=0.1"],
    }
    learnt = {name: warm_start(tmp_path / name, *arguments) for name, arguments in flags.items()}

    def equal(first: str, other: str) -> bool:
        return all(
            torch.equal(weight, learnt[other][name]) for name, weight in learnt[first].items()
        )

    assert not equal("alike", "advantage") and not equal("advantage", "colder")
    assert equal("colder", "again")
