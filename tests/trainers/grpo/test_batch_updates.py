"""Several updates per batch: minibatches, repeated passes, and a run cut between two of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from agentgym.vector import TextVectorEnv
from tests.trainers.grpo.helpers import DAPO, log, make_trainer, weights
from tests.trainers.grpo.test_objective import WINDOWED, Mixed

TWICE_TWO = {"steps": 2, "minibatches": 2, "iterations": 2, "logging_steps": 1}
"""Two minibatches, gone over twice: four updates per batch."""
KEPT = {"save_every": 1, "save_steps": 3}
"""Checkpoints between two updates of a batch."""


def make(folder: Any, **changes: Any) -> Any:
    """A trainer of four updates per batch."""
    args = {**TWICE_TWO, **changes.pop("args", {})}
    options = {"envs": TextVectorEnv([Mixed] * 16), "micro_tokens": 120, **changes}
    return make_trainer(folder, args=args, **options)


def test_a_batch_is_played_once_for_all_of_its_updates(tmp_path):
    events: list[Any] = []
    trainer = make(tmp_path, preset=DAPO, on_rollout=events.append, args={"lr": 3e-2})
    trainer.train()
    assert trainer.state.global_step == 8
    assert len(events) == 2
    assert trainer.runner.engine.version == 4
    clipped = log(trainer, "clip_ratio/region_mean")
    assert clipped[0] == clipped[4] == 0.0, "the first update of a batch is on-policy"
    assert min(max(clipped[1:4]), max(clipped[5:])) > 0.0


def test_without_drift_all_updates_add_up_to_the_gradient_of_the_batch(tmp_path):
    """At a rate of 0 two minibatches are halves of one update of all."""

    def gradient(folder: Any, **args: Any) -> Any:
        trainer = make(folder, args={"iterations": 1, "lr": 0.0, "max_grad_norm": 1e9, **args})
        trainer.model.train()
        batches = [trainer._prepare_inputs([{"prompt": ""}] * 16)]
        for batch in [*batches, *trainer._buffered_inputs[1:]]:
            trainer.compute_loss(trainer.model, batch).backward()
        return torch.cat([p.grad.flatten() for p in trainer.model.parameters()])

    once = gradient(tmp_path / "a", minibatches=1)
    twice = gradient(tmp_path / "b")
    assert torch.allclose(twice, 2 * once, atol=1e-6)
    assert once.norm() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, WINDOWED], ids=["rows", "windows"])
def test_a_run_cut_between_two_updates_goes_on_as_if_it_had_not_been(tmp_path, options):
    uninterrupted = make(tmp_path / "a", preset="gspo", args=KEPT, **options)
    uninterrupted.train()
    resumed = make(tmp_path / "a", preset="gspo", args=KEPT, **options)
    resumed.train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-3"))
    assert resumed.state.global_step == 8
    for a, b in zip(weights(uninterrupted.model), weights(resumed.model), strict=True):
        assert torch.equal(a, b)
    assert not list((tmp_path / "a" / "checkpoint-8").glob("multi_turn_batch*"))
