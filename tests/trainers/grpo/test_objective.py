"""The gradient of an update is the one that the preset's definition asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from agentgym.conversation import BARE, Prompt
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import EASY, log, make_trainer, part, weights
from tests.trainers.grpo.reference import forward, gradients, target
from trainers.algorithms.loss import Loss
from trainers.algorithms.presets import get_preset, runnable
from trainers.algorithms.shaping import Overlong
from trainers.methods.reward_model.reward_model import RewardModel
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.trajectory import to_rows

UPDATES = 2
SEQUENCE_DRIFT = 2e-4
DRIFT = 0.05
WINDOWED = {"budget": TokenBudget(4, 120, 160), "prompt": Prompt(BARE.windowed(1))}


class Mixed(ToyEnv):
    """Rewards, validity and length depend on what was said; one task breaks, one never differs."""

    def _act(self, action: str) -> Any:
        outcome = super()._act(action)
        kind, size = EASY.index(self.task.index) % 4, len(action)
        if kind == 3 and size % 5 == 0:
            raise RuntimeError("short circuit")
        outcome.reward, outcome.terms = 0.0 if kind == 2 else (size % 7) / 4, None
        outcome.valid = size % 2 == 0
        outcome.terminated = size % 3 == 0 and self.turn > 0
        outcome.success = outcome.terminated and size % 2 == 0
        return outcome


class Rough(HFEngine):
    """Reports log-probabilities that are a little off."""

    exact = False

    def advance(self, timeout: Any = None) -> Any:
        out = super().advance(timeout)
        for _, completion in out:
            completion.logprobs = [p + 0.3 * np.sin(9 * p) for p in completion.logprobs]
        return out


def disturb(model: Any, scale: float, seed: int) -> None:
    """Let the weights drift."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(scale * torch.randn(weight.shape, generator=generator))


def exactly(model: Any) -> Any:
    """A model of the same weights in double precision, and without TRL's changes."""
    fresh = tiny_policy.model()
    fresh.load_state_dict(model.state_dict())
    return fresh.double()


def relative_errors(tmp_path: Any, preset: Any, **changes: Any) -> list[float]:
    """Relative error of each update's gradient, |ours - reference| / |reference|."""
    settings = {"minibatches": UPDATES, "temperature": 0.8, "seed": 1, **changes.pop("args", {})}
    changes.setdefault("micro_tokens", 100)
    envs = TextVectorEnv([Mixed] * 16)
    # The reference recomputes these episodes: none is to be replaced or forked.
    base = get_preset(preset) if isinstance(preset, str) else preset
    preset = replace(base, refill=0, branching=None)
    trainer = make_trainer(
        tmp_path, preset=preset, args=settings, envs=envs, probe_every=0, **changes
    )
    preset = trainer.preset
    weights_before = exactly(trainer.model)
    disturb(trainer.model, DRIFT, 1)
    played_with = exactly(trainer.model)
    score = trainer._generate_and_score_completions

    def numbered(inputs: Any) -> Any:
        output = score(inputs)
        return {**output, "row": torch.arange(len(output["prompt_ids"]))}

    trainer._generate_and_score_completions = numbered
    trainer.model.train()
    batches = [trainer._prepare_inputs([{"prompt": ""}] * 16)]
    batches += trainer._buffered_inputs[1:]
    sequence = preset.loss.ratio == "sequence" and preset.loss.high < 0.01
    disturb(trainer.model, SEQUENCE_DRIFT if sequence else DRIFT, 2)

    rows, weights_now = to_rows(trainer.trajectories), exactly(trainer.model)
    with torch.no_grad():
        logp, old, reference = (
            forward(model, rows, 0.8)[0].numpy()
            for model in (weights_now, played_with, weights_before)
        )
    if not trainer.runner.engine.exact and not preset.prefers:
        preset = replace(preset, loss=replace(preset.loss, behave="clip"))
    aux = {"logp_ref": reference}
    if reward_model := part(trainer, RewardModel):  # It has learned from the batch.
        with torch.no_grad():
            aux["logp_prm"] = forward(exactly(reward_model.model), rows, 0.8)[0].numpy()
    goal = target(trainer.trajectories, preset, logp=logp, aux=aux, logp_old=old, const=16.0)
    assert np.abs(goal.ratio - 1).max() > 1e-4
    if preset.loss.clip == "ppo":
        assert goal.clipped.any(), "no token is clipped: the drift is too small to tell"
    assert (goal.coefficient != 0).any()

    errors = []
    for update in range(UPDATES):
        trainer.model.zero_grad()
        batch = batches[update]
        trainer.compute_loss(trainer.model, batch).backward()
        gradient = torch.cat([p.grad.flatten() for p in trainer.model.parameters()]).double()
        row_numbers = set(batch["row"].tolist())
        want = UPDATES * gradients(weights_now, rows, goal, row_numbers, 0.8)
        errors.append(float((gradient - want).norm() / want.norm()))
    return errors


PLAYED = [name for name in runnable() if "turn_critic" not in get_preset(name).needs]
"""Presets that train what was played; ``test_privileged_critic.py`` has the gradient of others."""


@pytest.mark.parametrize("name", PLAYED)
def test_gradient_of_every_update_is_the_presets(tmp_path, name):
    """One row for each episode; two updates per batch, ratios away from 1."""
    assert max(relative_errors(tmp_path, name)) < 1e-5


def kinds(name: str) -> set[tuple[str, str]]:
    """Kinds of parts of a preset, whatever their numbers."""
    preset = get_preset(name)
    loss, parts = preset.loss, (*preset.filters, *preset.shapers, preset.post, *preset.terms)
    pairs = {(type(part).__name__, "") for part in (*parts, *(t.signal for t in preset.terms))}
    pairs |= {("centre", str(term.center)) for term in preset.terms}
    pairs |= {("scale", str(term.scale)) for term in preset.terms}
    for field in ("ratio", "clip", "aggregation", "behave", "behave_level", "kl"):
        pairs.add((field, str(getattr(loss, field))))
    return pairs | {
        (field, "set") for field in ("kl_beta", "entropy", "dual") if getattr(loss, field)
    }


def covering(names: list[str]) -> list[str]:
    """Presets that together have every kind of part that any of them has."""
    uncovered, cover = set().union(*map(kinds, names)), []
    while uncovered:
        cover.append(max(names, key=lambda name: len(kinds(name) & uncovered)))
        uncovered -= kinds(cover[-1])
    return cover


ROWS = covering([name for name in PLAYED if get_preset(name).pool is None])
"""A stale policy needs an engine that can play it, see ``test_cross_policy.py``."""


@pytest.mark.parametrize("name", ROWS)
def test_gradient_with_several_rows_and_an_inexact_engine(tmp_path, name):
    """A window makes several rows of an episode; importance weights take part.

    How rows and weights meet a part is the same in every preset that has it.
    """
    errors = relative_errors(tmp_path, name, **WINDOWED, make_engine=Rough)
    assert max(errors) < 1e-5


TURN_CREDIT = get_preset("default")


@pytest.mark.parametrize(
    "loss",
    [
        Loss("sequence", low=0.02, high=0.02),
        Loss("turn", low=0.05, high=0.05),
        Loss("turn", clip="cispo", low=1.0, high=0.05, aggregation="turn-mean"),
        Loss("sequence", low=0.02, high=0.02, dual=1.05, aggregation="seq-mean-token-mean"),
        Loss(kl_beta=0.3, kl="k1", entropy=0.2, dead_zone=0.1, aggregation="seq-mean-token-sum"),
        Loss(clip="none", aggregation="seq-mean-token-mean", kl_beta=0.1),
        Loss(clip="cispo", low=0.05, high=0.05),
        Loss(clip="dppo", divergence=0.02),
    ],
    ids=[
        "sequence",
        "turn",
        "turn-cispo",
        "sequence-dual",
        "k1-entropy",
        "none",
        "cispo-low",
        "dppo",
    ],
)
def test_gradient_of_turn_level_credit(tmp_path, loss):
    """The ratio of a row or a turn leaves every token its own advantage."""
    preset = replace(TURN_CREDIT, loss=loss, shapers=(Overlong(limit=12, share=5 / 6),))
    assert max(relative_errors(tmp_path, preset)) < 1e-5


def test_the_divergence_from_the_first_policy_is_logged(tmp_path):
    """It is 0 at first and then grows; the reference is a copy, and stays as it was."""
    envs = TextVectorEnv([Mixed] * 16)
    trainer = make_trainer(tmp_path, preset="reinforce++", envs=envs, args={"steps": 4, "lr": 3e-2})
    start = weights(trainer.model)
    trainer.train()
    divergence = log(trainer, "kl")
    assert divergence[0] == pytest.approx(0.0, abs=1e-6)
    assert divergence[-1] > 1e-4
    assert all(
        torch.equal(a, b) for a, b in zip(start, weights(trainer._forward.reference), strict=True)
    )
