"""Cross-policy sampling in the trainer: who acted, with which weights, and what is learnt of it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR

from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, make_trainer, train_on_two_processes, weights
from tests.trainers.methods.async_rollouts.test_producer import Picky, logp, same, with_weights
from trainers.algorithms.policy_pool import PolicyPool
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.methods.cross_policy.stale_policy import STALE_FILE
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.rollout_event import RolloutEvent

AGENTRL = get_preset("agentrl")
WITHOUT_KL = replace(AGENTRL, loss=replace(AGENTRL.loss, kl_beta=0.0))
RATE = 0.5


def with_pool(share: float, interval: int, preset: Preset = WITHOUT_KL) -> Preset:
    return replace(preset, pool=PolicyPool(share, interval))


AHEAD = {"async_rollouts": partial(RolloutProducer, staleness=1)}
"""What plays a step ahead of the training."""


def learner(folder: Any, preset: Preset, *, steps: int = 5, **changes: Any) -> Any:
    """A trainer that learns fast, with the events that it told of and the weights before each."""
    trainer = make_trainer(
        folder,
        preset=preset,
        args={"steps": steps, "lr": 0.05} | changes.pop("args", {}),
        envs=TextVectorEnv([Picky] * 16),
        on_rollout=lambda event: trainer.snapshots.append((event, weights(trainer.model))),
        **changes,
    )
    trainer.snapshots = []
    return trainer


def versions(snapshots: Sequence[tuple[RolloutEvent, Any]], stale: bool) -> list[set[int]]:
    turns = [[t for e in event.trajectories for t in e.turns] for event, _ in snapshots]
    return [{turn.version for turn in step if turn.stale is stale} for step in turns]


@torch.no_grad()
def assert_each_turn_sampled_from(at: dict[int, list[Any]], event: RolloutEvent) -> None:
    """The recorded log-probabilities are those of the weights of the recorded version."""
    models = {version: with_weights(values) for version, values in at.items()}
    for episode in event.trajectories:
        ids: list[int] = []
        for turn in episode.turns:
            ids += turn.context
            expected = logp(models[turn.version], ids + turn.ids)[-len(turn.ids) :]
            ids += turn.ids
            assert torch.allclose(expected, torch.tensor(turn.logprobs), atol=1e-5)


@pytest.mark.slow
def test_each_turn_is_sampled_with_the_acting_policys_weights(tmp_path):
    trainer = learner(tmp_path, with_pool(0.5, 2))
    trainer.train()
    assert versions(trainer.snapshots, stale=False) == [{0}, {1}, {2}, {3}, {4}]
    assert versions(trainer.snapshots, stale=True) == [{0}, {0}, {2}, {2}, {4}]
    by_version = {event.step - 1: weights_before for event, weights_before in trainer.snapshots}
    for event, _ in trainer.snapshots:
        assert_each_turn_sampled_from(by_version, event)
    shares = log(trainer, "rollout/stale_turns")
    assert len(shares) == 5 and all(0.25 < share < 0.75 for share in shares)


def agentrl_gradient(model: Any, episodes: Sequence[Any]) -> tuple[list[Any], list[float], Any]:
    """Gradient of AgentRL's loss by its definition, its ratios, and the advantages of tokens."""
    limits = (StopReason.HORIZON.value, StopReason.TOKEN_LIMIT.value)
    returns = np.array([e.episode_return - 0.2 * (e.stop_reason in limits) for e in episodes])
    groups = np.array([e.group for e in episodes])
    advantage = np.zeros(len(episodes))
    for group in set(groups.tolist()):
        paid = returns[groups == group]
        advantage[groups == group] = (paid - paid.mean()) / (paid.std(ddof=1) + 1e-6)
    tokens = np.repeat(advantage, [e.action_tokens for e in episodes])
    tokens = (tokens - tokens.mean()) / (tokens.std(ddof=1) + 1e-6)  # of the only task
    parts, used, k = [], [], 0
    for episode in episodes:
        ids: list[int] = []
        for turn in episode.turns:
            ids += turn.context
            logp_now = logp(model, ids + turn.ids)[-len(turn.ids) :]
            ids += turn.ids
            for new, recorded in zip(logp_now, turn.logprobs, strict=True):
                a, ratio = float(tokens[k]), (new - recorded).exp()
                gain = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a)
                parts.append(gain if a >= 0 else torch.maximum(gain, torch.tensor(3.0 * a)))
                used.append(ratio.item())
                k += 1
    loss = -torch.stack(parts).sum() / k
    return list(torch.autograd.grad(loss, list(model.parameters()))), used, tokens


@pytest.mark.slow
def test_a_step_of_agentrl_in_numbers(tmp_path):
    """Task-level normalisation, and the clipped ratio to the log-probabilities of who acted."""
    model = tiny_policy.model()
    descent = torch.optim.SGD(model.parameters(), lr=RATE)
    trainer = learner(
        tmp_path,
        with_pool(0.5, 3),
        model=model,
        steps=4,
        args={"max_grad_norm": 1e9},
        optimizers=(descent, LambdaLR(descent, lambda step: 1.0)),
    )
    trainer.train()
    clipped = 0
    for (event, before), (_, after) in itertools.pairwise(trainer.snapshots):
        gradient, ratios, tokens = agentrl_gradient(with_weights(before), event.trajectories)
        assert abs(tokens.mean()) < 1e-6 and abs(tokens.std(ddof=1) - 1.0) < 1e-5
        for old, new, slope in zip(before, after, gradient, strict=True):
            assert torch.allclose(new - old, -RATE * slope, atol=2e-5, rtol=1e-3)
        clipped += sum(not 0.8 <= ratio <= 1.2 for ratio in ratios)
    assert clipped > 0
    assert not log(trainer, "sampling/importance_mean"), "nothing but the ratio corrects"


@pytest.mark.slow
def test_other_losses_weigh_stale_turns_by_their_importance(tmp_path):
    trainer = learner(tmp_path, with_pool(0.5, 9, get_preset("rloo")), steps=3)
    trainer.train()
    means = log(trainer, "sampling/importance_mean")
    assert means[0] == pytest.approx(1.0, abs=1e-4) and abs(means[2] - 1.0) > 1e-3


@pytest.mark.slow
def test_ahead_of_the_training_the_stale_policy_is_older_still(tmp_path):
    trainer = learner(tmp_path, with_pool(0.5, 2), steps=6, parts=AHEAD)
    trainer.train()
    assert versions(trainer.snapshots, stale=False) == [{0}, {0}, {1}, {2}, {3}, {4}]
    assert versions(trainer.snapshots, stale=True) == [{0}, {0}, {0}, {2}, {2}, {4}]
    by_version = {event.step - 1: weights_before for event, weights_before in trainer.snapshots}
    for event, _ in trainer.snapshots:
        assert_each_turn_sampled_from(by_version, event)
    assert log(trainer, "sampling/staleness") == [0.0] + [1.0] * 5
    repeated = learner(tmp_path / "again", with_pool(0.5, 2), steps=6, parts=AHEAD)
    repeated.train()
    assert same(trainer, repeated)


@pytest.mark.slow
def test_adapters_share_one_base_and_are_kept_alone(tmp_path):
    from peft import LoraConfig

    config = LoraConfig(r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM")
    trainer = learner(
        tmp_path, with_pool(0.5, 2), steps=3, peft_config=config, args={"save_every": 1}
    )
    trainer.train()
    assert versions(trainer.snapshots, stale=True) == [{0}, {0}, {2}]
    state = torch.load(tmp_path / "checkpoint-3" / STALE_FILE, weights_only=True)
    assert state["steps"] == 2 and all(".lora_" in name for name in state["weights"])
    bases = {id(m.base_layer) for m in trainer.model.modules() if hasattr(m, "base_layer")}
    engine = trainer.runner.engine
    assert engine._stale.model is engine.model is trainer._policy and bases


@pytest.mark.slow
def test_two_processes_keep_the_same_stale_policy(tmp_path):
    first, second = train_on_two_processes(
        tmp_path, preset=with_pool(0.5, 1), args={"steps": 3, "lr": 0.05}
    )
    assert first["steps"] == second["steps"] == 3
    assert all(map(torch.equal, first["weights"], second["weights"]))
    assert not all(map(torch.equal, first["weights"], first["start"]))


def test_an_engine_without_a_place_for_it_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"play turns with a stale policy, got 'hf' with"):
        learner(tmp_path, with_pool(0.5, 2), make_engine=HFEngine)
