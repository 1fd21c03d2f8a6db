"""Distillation through the command: a run that teaches another, and one that dies and goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainers import toy_runs
from trainers.cli import main

pytestmark = pytest.mark.slow
SMALL: dict[str, Any] = {
    "steps": 3, "horizon": "3", "horizon_every": None, "sft__max_steps": 20, "eval__every": 0,
    "eval__num_tasks": 4, "rl__groups": 4, "rl__num_generations": 2, "rl__save_every": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of another seed and size."""
    out = tmp_path_factory.mktemp("teacher") / "run"
    changes = {**SMALL, "seed": 1, "tiny__hidden": 32, "sft__max_steps": 40, "steps": 1}
    assert main(toy_runs.arguments(out, **changes)) == 0
    return out


def equal(first: Path, second: Path) -> bool:
    return toy_runs.equal(*map(toy_runs.trained_weights, (second, first)))


def of_teacher(teacher: Path) -> dict[str, Any]:
    return {**SMALL, "preset": "on-policy-distillation", "distill__teacher": teacher}


@pytest.fixture(scope="module")
def student(teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learns from the teacher's."""
    out = tmp_path_factory.mktemp("student") / "run"
    assert main(toy_runs.arguments(out, **of_teacher(teacher))) == 0
    return out


def test_a_run_learns_from_another_and_says_how_far_it_is_from_it(student):
    records = toy_runs.by_phase(student)["rl"]
    assert len(records) == 3 and all(record["reverse_kl"] > 0 for record in records)


@pytest.mark.parametrize(
    "change",
    [
        {"distill__weight": 0.1, "distill__reward_weight": 1},
        {"distill__privileged": "plan"},
        {"distill__teacher": "checkpoint"},
    ],
    ids=lambda change: "".join(change),
)
def test_a_flag_changes_the_weights(change, student, teacher, tmp_path):
    if "distill__teacher" in change:
        change = {"distill__teacher": teacher / "checkpoints" / "warm-start"}
    command = toy_runs.arguments(tmp_path / "run", **{**of_teacher(teacher), **change})
    assert main(toy_runs.begun_from(student, command)) == 0
    assert not equal(tmp_path / "run", student)


def test_a_server_that_serves_the_teacher_changes_no_weight_beyond_rounding(
    student, teacher, tmp_path
):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tests.trainers.methods.distill.test_vocabulary import ScoringServer

    folder = teacher / "checkpoints" / "trained"
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    server = ScoringServer(model, AutoTokenizer.from_pretrained(folder))
    # Not from scratch: that would not be made with the tokens of a teacher on a server.
    changes = {
        **of_teacher(teacher), "model": student / "checkpoints" / "warm-start", "lora__r": 0,
        "sft__max_steps": 0, "prompt": "bare",
    }  # fmt: skip
    served = {"distill__teacher": None, "distill__url": server.url}
    try:
        for name, change in (("here", {}), ("served", served)):
            assert main(toy_runs.arguments(tmp_path / name, **{**changes, **change})) == 0
    finally:
        server.stop()
    served_weights, expected = (
        toy_runs.trained_weights(tmp_path / "served"),
        toy_runs.trained_weights(tmp_path / "here"),
    )
    start_weights = load_file(student / "checkpoints" / "warm-start" / "model.safetensors")
    for name, value in expected.items():
        torch.testing.assert_close(served_weights[name], value, rtol=1e-2, atol=1e-3)
        assert (value - start_weights[name]).abs().max() > 0.01


@pytest.mark.parametrize("self_taught", [False, True], ids=["a run", "the policy with a plan"])
def test_kill_9_changes_nothing(self_taught, student, teacher, tmp_path):
    changes = of_teacher(teacher)
    if self_taught:
        changes = {**SMALL, "preset": "self-distillation"}
    folders = toy_runs.resume_killed(tmp_path, die_at="rl:2", donor=student, **changes)
    assert equal(*folders)
    assert equal(folders[0], student) != self_taught


def test_a_teacher_with_other_tokens_is_refused_before_the_run_begins(teacher, tmp_path, capsys):
    """A pretrained policy keeps its tokens; a tiny one is made with those of its teacher."""
    start, other_start = teacher / "checkpoints" / "warm-start", tmp_path / "other"
    shutil.copytree(start, other_start)
    names = json.loads((other_start / "tokenizer.json").read_text())
    words = names["model"]["vocab"]
    words["red"], words["blue"] = words["blue"], words["red"]
    (other_start / "tokenizer.json").write_text(json.dumps(names))
    changes = {**of_teacher(other_start), "model": start, "lora__r": 0, "sft__max_steps": 0}
    assert main(toy_runs.arguments(tmp_path / "run", **changes)) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "expected a teacher with the tokenizer of the policy" in message
    assert not (tmp_path / "run").exists()
    assert (
        main(toy_runs.arguments(tmp_path / "run", **{**changes, "distill__teacher": teacher})) == 0
    )
