"""The policy before the updates is scored only where something reads it before the update."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from agentgym.vector import TextVectorEnv
from tests.trainers.grpo.helpers import DAPO, make_trainer
from tests.trainers.grpo.test_objective import WINDOWED, Mixed, Rough
from trainers.algorithms.loss import Loss
from trainers.algorithms.presets import get_preset
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.rollouts.scoring.tensors import sampled_mask

INPUTS = [{"prompt": ""}] * 16


def make_rough_trainer(folder: Path, preset: Any, **changes: Any) -> Any:
    """A trainer whose engine reports log-probabilities that are a little off."""
    envs = TextVectorEnv([Mixed] * 16)
    options = {"make_engine": Rough, "probe_every": 0, **WINDOWED, **changes}
    return make_trainer(folder, preset=preset, envs=envs, **options)


def step(trained: Any) -> tuple[torch.Tensor, dict[str, float], dict[str, Any], int]:
    """One batch's gradient, its figures, its columns, and the passes that only score."""
    passes, score = [], trained._forward.logps
    trained._forward.logps = lambda *args, **named: passes.append(args) or score(*args, **named)
    trained.model.train()
    batch = trained._prepare_inputs(INPUTS)
    n_before = len(passes)
    trained.compute_loss(trained.model, batch).backward()
    gradient = torch.cat([p.grad.flatten() for p in trained.model.parameters()])
    figures = {name: values[-1] for name, values in trained._metrics["train"].items()}
    return gradient, figures, batch, n_before


@pytest.mark.parametrize("behave", ["none", "clip", "mask"])
@pytest.mark.parametrize("budget", [None, 70])
def test_one_update_corrects_in_its_own_pass(tmp_path, monkeypatch, behave, budget):
    """Gradient and figures are those of a step that scores its batch before."""
    preset = replace(DAPO, loss=replace(DAPO.loss, behave=behave, behave_cap=1.2))
    late, figures, batch, passes = step(make_rough_trainer(tmp_path, preset, micro_tokens=budget))
    assert passes == 0
    assert "old_per_token_logps" not in batch
    monkeypatch.setattr(MultiTurnTrainer, "_corrects_late", False)
    early, expected, batch, passes = step(make_rough_trainer(tmp_path, preset, micro_tokens=budget))
    assert passes == 1
    assert "old_per_token_logps" in batch
    assert early.norm() > 0
    assert (late - early).norm() < 1e-5 * early.norm()
    names = [name for name in expected if name.startswith("sampling/")]
    assert {"sampling/logp_gap_mean", "sampling/logp_gap_max"} <= set(names)
    assert expected["sampling/importance_truncated"] > 0
    for name in names:
        assert figures[name] == pytest.approx(expected[name], rel=1e-4), name


SEQUENCE = Loss(behave="clip", behave_level="sequence")


@pytest.mark.parametrize(
    ("preset", "options"),
    [
        (DAPO, {"args": {"minibatches": 2}}),
        (replace(DAPO, loss=SEQUENCE), {}),
        (get_preset("reinforce++"), {}),
        (get_preset("ppo"), {}),
    ],
    ids=["two updates", "whole trajectories", "reference", "critic"],
)
def test_what_reads_the_policy_before_the_update_has_it_scored_before(tmp_path, preset, options):
    _, figures, batch, passes = step(
        make_rough_trainer(tmp_path, replace(preset, refill=0), **options)
    )
    assert passes >= 1
    assert "old_per_token_logps" in batch
    assert figures["sampling/logp_gap_mean"] > 0


def test_rows_that_train_nothing_are_not_scored(tmp_path):
    """A filter leaves out groups without any difference, as one task of the toy always makes."""
    trained = make_rough_trainer(tmp_path, DAPO, args={"minibatches": 2})
    scored: list[int] = []
    score = trained._forward.logps
    trained._forward.logps = lambda model, batch, parts, *rest: (
        scored.extend(int(row) for part in parts for row in part)
        or score(model, batch, parts, *rest)
    )
    batch = trained._generate_and_score_completions(INPUTS)
    trains = sampled_mask(batch).any(1)
    assert 0 < trains.sum() < (batch["completion_mask"] * batch["old_per_token_logps"]).any(1).sum()
    assert sorted(scored) == torch.nonzero(trains).flatten().tolist()
