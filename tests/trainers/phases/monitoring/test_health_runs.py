"""Alarms in whole runs, asked for through the command, provoked by a learning rate far too high."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from safetensors.torch import load_file

from tests.trainers import toy_runs
from trainers.cli import main
from trainers.config.sections import Signal
from trainers.grpo.trainer import MultiTurnTrainer

pytestmark = pytest.mark.slow

QUICK: dict[str, Any] = {
    "steps": 6, "sft__max_steps": 2, "eval__every": 2, "eval__num_tasks": 4, "eval__valid_tasks": 4,
    "rl__save_every": 1, "rl__keep_checkpoints": 9, "health__patience": 1, "health__usual_steps": 2,
    "tiny__layers": 2, "tiny__intermediate": 32,
}  # fmt: skip
COLLAPSE = {"rl__learning_rate": 3.0, "rl__minibatches": 2}


def trained(out: Path, *flags: str, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    """Train through the command line; the records by phase."""
    assert main(toy_runs.arguments(out, *flags, **{**QUICK, **changes})) == 0
    return toy_runs.by_phase(out)


def summary(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return content


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_file(path / "model.safetensors")


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def test_an_absurd_learning_rate_raises_alarms_and_a_warning_changes_nothing(tmp_path):
    records = trained(tmp_path / "run", **COLLAPSE)
    signals = {record["signal"] for record in records["health"]}
    assert signals >= {"clip_fraction", "kl_behaviour", "zero_variance", "reward_spread"}
    assert {record["action"] for record in records["health"]} == {"warn"}
    assert [record["step"] for record in records["rl"]] == [1, 2, 3, 4, 5, 6]
    report = summary(tmp_path / "run")
    assert [event["signal"] for event in report["health"]] == [
        r["signal"] for r in records["health"]
    ]
    assert any("alarms in training (clip_fraction, kl_" in remark for remark in report["remarks"])
    assert "alarm at step 1: kl_behaviour" in (tmp_path / "run" / "warnings.log").read_text()
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Health of the training" in page
    assert records["health"][0]["sentence"] in page


LEARNED: dict[str, Any] = {
    "sft__max_steps": 200, "sft__eval_every": 50, "sft__target_success": 0.9, "horizon": "3",
    "horizon_every": None, "eval__every": 0, "rl__save_every": 99,
}  # fmt: skip
"""A policy that solves its tasks before it is reinforced."""


def raised(records: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The first alarm of each signal."""
    return {record["signal"]: record for record in reversed(records["health"])}


def test_a_policy_that_forgets_all_is_far_from_its_reference_and_writes_invalid_noise(tmp_path):
    records = trained(
        tmp_path / "run", preset="grpo", rl__learning_rate=0.2, **{**LEARNED, "steps": 8}
    )
    alarms = raised(records)
    valid = [record["valid"] for record in records["rl"]]
    lost_step = 1 + next(step for step, share in enumerate(valid) if share < 0.5)
    assert valid[0] > 0.9 and alarms["invalid"]["step"] == lost_step
    for signal, figure in (("kl", "kl"), ("entropy_rise", "entropy")):
        alarm = alarms[signal]
        assert (
            lost_step <= alarm["step"]
            and alarm["value"] == records["rl"][alarm["step"] - 1][figure]
        )
    assert "the policy has left its reference far behind" in alarms["kl"]["sentence"]
    assert "the policy is turning to noise" in alarms["entropy_rise"]["sentence"]
    assert "the policy forgets the format of actions" in alarms["invalid"]["sentence"]


def test_many_updates_of_a_step_at_a_high_rate_clip_too_many_tokens(tmp_path):
    changes = {"steps": 3, "rl__learning_rate": 0.05, "rl__num_iterations": 6, "sft__max_steps": 40}
    alarm = raised(trained(tmp_path / "run", **{**LEARNED, **changes}))["clip_fraction"]
    assert alarm["step"] == 1 and 0.2 < alarm["value"] < 0.5
    assert "updates are too large for their data" in alarm["sentence"]


def test_an_alarm_stops_the_training_and_resume_does_not_start_it_again(tmp_path, monkeypatch):
    out = tmp_path / "run"

    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    flags = ["--health.on-alarm", "stop"]
    with monkeypatch.context() as patch:
        patch.setattr("trainers.phases.run._Run._summarise", die)
        with pytest.raises(Killed):
            trained(out, *flags, **COLLAPSE)
    assert [record["step"] for record in toy_runs.by_phase(out)["rl"]] == [1]
    records = trained(out, *flags, "--resume", **COLLAPSE)
    assert [record["step"] for record in records["rl"]] == [1]
    report = summary(out)
    assert report["steps"] == 1
    assert any("because an alarm ended it" in remark for remark in report["remarks"])


class Restored:
    """Spies on what a rollback begins with: the weights, and the rate of every group."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.restarts: list[tuple[str, bool, float]] = []
        load = MultiTurnTrainer._load_optimizer_and_scheduler

        def spy(trainer: MultiTurnTrainer, checkpoint: str | None) -> None:
            load(trainer, checkpoint)
            if checkpoint is not None:
                path = Path(checkpoint)
                stored, current = weights(path), trainer.model.state_dict()
                equal = all(torch.equal(stored[name], current[name]) for name in stored)
                optimizer: Any = trainer.optimizer
                self.restarts.append((path.name, equal, optimizer.param_groups[0]["lr"]))

        patch.setattr(MultiTurnTrainer, "_load_optimizer_and_scheduler", spy)


BACK = (
    "--health.on-alarm",
    "rollback",
    "--health.rollbacks",
    "1",
    "--health.learning-rate-factor",
    "0.1",
)


def test_a_rollback_restores_the_checkpoint_bit_by_bit_and_ends_when_there_were_enough(
    tmp_path, monkeypatch
):
    out, spy = tmp_path / "run", Restored(monkeypatch)
    records = trained(out, *BACK, **COLLAPSE)
    first, last = records["rollback"]
    assert (first["step"], first["to"], first["signal"]) == (1, 0, "clip_fraction")
    # Twice as far back as is allowed: the second time it stays there.
    assert spy.restarts[0] == ("checkpoint-0", True, pytest.approx(0.3))
    assert len(spy.restarts) == 1
    steps = [record["step"] for record in records.get("rl", [])]
    assert steps == list(range(1, last["to"] + 1))
    checkpoint = out / "checkpoints" / "rl" / f"checkpoint-{2 * last['to']}"
    assert same(weights(checkpoint), weights(out / "checkpoints" / "trained"))
    report = summary(out)
    assert [(e["action"], e["to"]) for e in report["health"]] == [
        ("rollback", 0), ("rollback", last["to"]),
    ]  # fmt: skip
    assert "Training went back to step 0" in (out / "report.html").read_text()


def test_a_process_that_is_killed_when_it_went_back_goes_on_as_if_it_had_not_been(
    tmp_path, monkeypatch
):
    other_signals = [name for name in get_args(Signal) if name != "kl_behaviour"]
    flags = [
        "--health.on-alarm=rollback",
        "--health.learning-rate-factor=0.001",
        "--health.ignore",
        *other_signals,
    ]
    reference = trained(tmp_path / "whole", *flags, **COLLAPSE)
    assert len(reference["rollback"]) == 1
    assert [record["step"] for record in reference["rl"]] == [1, 2, 3, 4, 5, 6]
    assert [record["learning_rate"] for record in reference["rl"]] == pytest.approx([3e-3] * 6)
    with monkeypatch.context() as patch, pytest.raises(toy_runs.killed_at("rollback", None, patch)):
        trained(tmp_path / "run", *flags, **COLLAPSE)
    assert trained(tmp_path / "run", *flags, "--resume", **COLLAPSE) == reference


def test_weights_that_are_not_finite_give_way_to_those_of_the_last_checkpoint(tmp_path):
    """The step's update itself overflows: the gradient was finite, the weights are not."""
    out = tmp_path / "run"
    other_signals = ["zero_variance", "trained_fraction", "reward_spread"]
    flags = ["--health.on-alarm=rollback", "--health.ignore", *other_signals]
    records = trained(out, *flags, rl__learning_rate=1e38, rl__warmup_steps=0)
    assert {record["signal"] for record in records["rollback"]} == {"non_finite"}
    assert all(torch.isfinite(w).all() for w in weights(out / "checkpoints" / "trained").values())


def test_a_loss_that_is_no_number_updates_nothing_and_ends_the_training(tmp_path, monkeypatch):
    out, loss = tmp_path / "run", MultiTurnTrainer.compute_loss

    def broken(trainer: MultiTurnTrainer, *args: Any, **kwargs: Any) -> torch.Tensor:
        return loss(trainer, *args, **kwargs) * (float("nan") if trainer.batches == 2 else 1.0)

    monkeypatch.setattr(MultiTurnTrainer, "compute_loss", broken)
    records = trained(out)
    assert [
        (r["signal"], r["action"]) for r in records["health"] if r["signal"] == "non_finite"
    ] == [("non_finite", "stop")]
    last = records["rl"][-1]
    assert (last["step"], last["loss"], last["grad_norm"]) == (3, None, None)
    assert same(
        weights(out / "checkpoints" / "rl" / "checkpoint-2"),
        weights(out / "checkpoints" / "trained"),
    )


def test_weights_that_are_not_finite_and_no_checkpoint_end_in_a_sentence(tmp_path, capsys):
    changes = {**QUICK, "rl__learning_rate": 1e38, "rl__save_every": 5}
    assert main(toy_runs.arguments(tmp_path / "run", **changes)) == 2
    assert "expected finite weights after" in toy_runs.last_line(capsys.readouterr().err)
