"""Several updates per batch: minibatches, repeated passes, and a run cut between two of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from trl import GRPOTrainer

from agentgym.vector import TextVectorEnv
from tests.trainers.grpo.helpers import log, trainer, weights
from tests.trainers.grpo.test_objective import WINDOWED, Mixed

TWICE_TWO = {
    "steps": 8,
    "micro_batch": 4,
    "gradient_accumulation_steps": 2,
    "steps_per_generation": 4,
    "num_iterations": 2,
}
"""Two minibatches of two micro-batches, gone over twice: four updates per batch."""


def make(folder: Any, **changes: Any) -> Any:
    """A trainer of four updates per batch."""
    args = {**TWICE_TWO, **changes.pop("args", {})}
    return trainer(folder, args=args, envs=TextVectorEnv([Mixed] * 16), **changes)


def test_a_batch_is_played_once_for_all_of_its_updates(tmp_path):
    events: list[Any] = []
    made = make(tmp_path, preset="dapo", on_rollout=events.append, args={"lr": 3e-2})
    made.train()
    assert made.state.global_step == 8
    assert len(events) == 2
    assert made.runner.engine.version == 4
    clipped = log(made, "clip_ratio/region_mean")
    assert clipped[0] == clipped[4] == 0.0, "the first update of a batch is on-policy"
    assert min(max(clipped[1:4]), max(clipped[5:])) > 0.0


def test_without_drift_all_updates_add_up_to_the_gradient_of_the_batch(tmp_path):
    """At a rate of 0 two minibatches are halves of one update of all."""

    def gradient(folder: Any, **args: Any) -> Any:
        made = make(folder, args={"num_iterations": 1, "lr": 0.0, "max_grad_norm": 1e9, **args})
        made.current_gradient_accumulation_steps = made.args.gradient_accumulation_steps
        made.model.train()
        batches = [made._prepare_inputs([{"prompt": ""}] * 16)]
        for batch in [*batches, *made._buffered_inputs[1:]]:
            made._compute_loss(made.model, batch).backward()
        return torch.cat([p.grad.flatten() for p in made.model.parameters()])

    once = gradient(tmp_path / "a", gradient_accumulation_steps=4)
    twice = gradient(tmp_path / "b")
    assert torch.allclose(twice, 2 * once, atol=1e-6)
    assert once.norm() > 1e-3


def test_rows_stay_in_their_update(tmp_path, monkeypatch):
    """Only micro-batches of one update are sorted by length; across updates that would bias."""
    split: list[Any] = []
    prepare = GRPOTrainer._prepare_inputs

    def spy(self: Any, batch: Any) -> Any:
        out = prepare(self, batch)
        split.append(self._buffered_inputs)
        return out

    monkeypatch.setattr(GRPOTrainer, "_prepare_inputs", spy)
    made = make(tmp_path)
    made.model.train()
    made._prepare_inputs([{"prompt": ""}] * 16)

    for at in (0, 2):
        theirs = sorted(r for b in split[0][at : at + 2] for r in b["completion_ids"].tolist())
        ours = sorted(
            r for b in made._buffered_inputs[at : at + 2] for r in b["completion_ids"].tolist()
        )
        assert theirs == ours


@pytest.mark.parametrize("options", [{}, {"budget": WINDOWED}], ids=["rows", "windows"])
def test_a_run_cut_between_two_updates_goes_on_as_if_it_had_not_been(tmp_path, options):
    whole = make(tmp_path / "a", preset="gspo", args={"save_every": 3}, **options)
    whole.train()
    again = make(tmp_path / "a", preset="gspo", args={"save_every": 3}, **options)
    again.train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-3"))
    assert again.state.global_step == 8
    for a, b in zip(weights(whole.model), weights(again.model), strict=True):
        assert torch.equal(a, b)
    assert not list((tmp_path / "a" / "checkpoint-8").glob("multi_turn_batch*"))
