"""Updates that are to change nothing: nothing trains, or what came is not finite."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from torch import nn

from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers.grpo.helpers import DAPO, log, make_trainer, weights
from trainers.algorithms.presets import get_preset
from trainers.grpo.batch_trainer import DROPPED, IDLE
from trainers.grpo.policy_trainer import LOST_TOKENS
from trainers.grpo.step_part import StepRows
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.methods.own_weights import OwnWeights
from trainers.rollouts.scoring.forward import Scores, TokenForward

DECAYED = {"weight_decay": 0.1, "lr": 1e-2, "steps": 4}


class PaidBy(ToyEnv):
    """Pays by the length of an action as long as it is told to, and else nothing."""

    pays = True

    def _act(self, action: str) -> Any:
        outcome = super()._act(action)
        outcome.reward = float(len(action) % 5) if self.pays else 0.0
        outcome.terms = None
        return outcome


def step_by_step(trainer: MultiTurnTrainer) -> list[list[torch.Tensor]]:
    """Train; the weights before, and after every step."""
    weights_after = [weights(trainer.model)]
    trainer.after_step = lambda end: (end.log(), weights_after.append(weights(trainer.model)))  # type: ignore[assignment,func-returns-value]
    trainer.train()
    return weights_after


def moved(after: list[list[torch.Tensor]]) -> list[bool]:
    """Whether each step has changed a weight."""
    return [
        any(not torch.equal(a, b) for a, b in zip(weights_before, weights_after, strict=True))
        for weights_before, weights_after in pairwise(after)
    ]


@pytest.fixture
def paid_in(monkeypatch) -> Callable[..., list[TextVectorEnv]]:
    """Environments, and what lets them pay in some steps alone."""

    def make(*steps: int) -> Any:
        play = MultiTurnTrainer.play_groups

        def play_and_pay(self: Any, step: int, *args: Any) -> Any:
            PaidBy.pays = step in steps
            return play(self, step, *args)

        monkeypatch.setattr(MultiTurnTrainer, "play_groups", play_and_pay)
        return TextVectorEnv([PaidBy] * 16)

    return make


@pytest.mark.slow
@pytest.mark.parametrize("preset", [DAPO, "rloo", "default"], ids=str)
@pytest.mark.parametrize("updates", [{}, {"minibatches": 2, "iterations": 2}], ids=str)
def test_a_step_in_which_nothing_trains_changes_no_weight(tmp_path, paid_in, preset, updates):
    """Neither by decay nor along the moments of the steps before; and it is counted."""
    trainer = make_trainer(tmp_path, envs=paid_in(1, 4), preset=preset, args={**DECAYED, **updates})
    assert moved(step_by_step(trainer)) == [True, False, False, True]
    per_step = trainer.updates
    assert log(trainer, IDLE)[1:3] == [per_step, per_step]
    assert log(trainer, DROPPED) == [0.0] * 4
    assert all(log(trainer, "finite"))


def test_an_update_that_is_not_finite_is_dropped_counted_and_told(tmp_path, paid_in, caplog):
    trainer = make_trainer(tmp_path, envs=paid_in(1, 2, 3, 4), args=DECAYED)
    compute = trainer.compute_loss
    trainer.compute_loss = lambda *a, **k: (
        compute(*a, **k) * (torch.nan if trainer.batches == 1 else 1.0)
    )
    with caplog.at_level(logging.WARNING, "trainers"):
        weights_after = step_by_step(trainer)
    assert moved(weights_after) == [True, False, True, True]
    assert log(trainer, DROPPED) == [0.0, 1.0, 0.0, 0.0]
    assert [m for m in caplog.messages if "is dropped" in m] == [
        "step 2: an update is dropped, because its loss or gradient is not finite"
    ]


def test_one_token_with_an_absurd_ratio_does_not_cost_the_update(tmp_path, paid_in, caplog):
    """Before, its exponential overflowed, and the whole update was dropped."""
    args = {**DECAYED, "iterations": 2}
    trainer = make_trainer(tmp_path, envs=paid_in(1, 2, 3, 4), preset="default", args=args)
    add = trainer._add_logps

    def spoilt(rows: StepRows) -> None:
        add(rows)
        batch = rows.batch
        row, column = (int(index[0]) for index in batch["tool_mask"].nonzero(as_tuple=True))
        batch["old_per_token_logps"][row, column] -= 500.0

    trainer._add_logps = spoilt
    assert moved(step_by_step(trainer)) == [True] * 4
    assert log(trainer, DROPPED) == [0.0] * 4 and all(log(trainer, "finite"))
    assert log(trainer, LOST_TOKENS) == [0.0] * 4


def test_tokens_whose_loss_is_not_finite_are_left_out_counted_and_told(
    tmp_path, paid_in, caplog, monkeypatch
):
    """A token that the policy itself excludes, under a loss that is its log-probability."""
    rloo = get_preset("rloo")
    unclipped = replace(rloo, loss=replace(rloo.loss, clip="none"))
    trainer = make_trainer(
        tmp_path, envs=paid_in(1, 2, 3, 4), preset=unclipped, args=DECAYED, probe_every=0
    )
    forward = TokenForward.__call__

    def spoilt(self: Any, model: Any, batch: Any, mask: Any, **options: Any) -> Scores:
        scores = forward(self, model, batch, mask, **options)
        first = mask & (mask.flatten().cumsum(0).view_as(mask) == 1)
        if trainer.batches != 2 or not torch.is_grad_enabled():
            return scores
        return scores._replace(logps=scores.logps.masked_fill(first, -torch.inf))

    monkeypatch.setattr(TokenForward, "__call__", spoilt)
    with caplog.at_level(logging.WARNING, "trainers"):
        assert moved(step_by_step(trainer)) == [True] * 4
    assert [share > 0.0 for share in log(trainer, LOST_TOKENS)] == [False, False, True, False]
    assert all(log(trainer, "finite"))
    assert [m for m in caplog.messages if m.startswith("step 3:") and "left out" in m]


class Line(OwnWeights):
    """One weight beside the policy's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Accelerator(cpu=True), lr=0.1, max_grad_norm=1.0, file="line.pt")
        self.weight = nn.Parameter(torch.ones(2))
        self._train({"weight": self.weight})

    def update(self, slope: float) -> float:
        """Make an update with this gradient; returns how far the weight moves."""
        weights_before = self.weight.detach().clone()
        (slope * self.weight).sum().backward()
        self.step()
        return float((self.weight.detach() - weights_before).abs().max())


def test_a_critic_does_not_move_where_it_has_nothing_to_learn(tmp_path):
    line = Line(tmp_path)
    assert line.update(1.0) > 0.01
    assert line.update(0.0) == line.update(torch.nan) == 0.0
    assert line.update(1.0) > 0.01
