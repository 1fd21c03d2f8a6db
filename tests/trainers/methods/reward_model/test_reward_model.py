"""The reward model of a training: what it learns, what it pays, and where it never goes."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig
from safetensors.torch import load_file
from torch.nn.functional import logsigmoid

from agentgym.conversation import BARE, Prompt
from agentgym.core.outcome import StopReason
from agentgym.errors import NotSupported
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers.grpo.helpers import (
    flattened,
    log,
    make_trainer,
    part,
    same,
    step_context,
    warm_model,
    weights,
)
from tests.trainers.grpo.reference import forward
from tests.trainers.grpo.test_objective import exactly
from tests.trainers.grpo.test_trainer import Picky
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.methods.forks.branching import Branching, EveryTurn
from trainers.methods.reward_model.credit import Implicit
from trainers.methods.reward_model.reward_model import (
    REWARD_MODEL_FILE,
    RewardModel,
    RewardModelSettings,
)
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.trajectory import to_rows

ISTAR = get_preset("istar")
OUTCOME, STEPS = ISTAR.terms
WITHOUT = replace(ISTAR, terms=(OUTCOME,))
"""What is left of it without a reward model."""
LEARNS = RewardModelSettings(lr=0.01, preferred="return")
UPDATES = {"minibatches": 2, "lr": 3e-3, "steps": 2}
ADAPTERS = {
    "peft_config": LoraConfig(r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM")
}
SIZES: dict[str, dict[str, Any]] = {"all": {}, "adapters": ADAPTERS}
each_size = pytest.mark.parametrize("size", SIZES)


def learner(
    folder: Any, settings: RewardModelSettings = LEARNS, preset: Preset = ISTAR, **changes: Any
) -> Any:
    """A trainer with a reward model, whose episodes pay for what the policy can learn."""
    options: dict[str, Any] = {
        "args": UPDATES, "envs": TextVectorEnv([Picky] * 16), "probe_every": 0, **changes,
    }  # fmt: skip
    return make_trainer(
        folder,
        preset=preset,
        parts={"reward_model": partial(RewardModel, settings=settings)},
        **options,
    )


def trained(folder: Any, *args: Any, **changes: Any) -> Any:
    """The weights of the policy after a short training."""
    trainer = learner(folder, *args, **changes)
    trainer.train()
    return weights(trainer.model)


@pytest.fixture(scope="module")
def train_once(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give the weights after a training of some size; each is made once."""

    @cache
    def train(size: str, settings: RewardModelSettings = LEARNS, preset: Preset = ISTAR) -> Any:
        return trained(tmp_path_factory.mktemp("run"), settings, preset, **SIZES[size])

    return train


@pytest.mark.slow
@each_size
def test_while_it_pays_nothing_the_policy_is_grpos_to_the_bit(size, train_once, tmp_path):
    """It learns all the same, and afterwards what it pays acts."""
    warm = {steps: replace(LEARNS, warmup=steps) for steps in (1, 2)}
    options, expected = SIZES[size], train_once(size, LEARNS, WITHOUT)
    trainer = learner(tmp_path, warm[2], **options)
    trainer.train()
    assert same(weights(trainer.model), expected)
    assert not same(
        weights(part(trainer, RewardModel).model), weights(learner(tmp_path, **options).model)
    )
    assert not same(train_once(size, warm[1]), expected)


def test_without_a_better_episode_it_is_the_policy_and_pays_nothing(tmp_path):
    """No episode of an untrained policy is solved: the two are one, token by token."""
    assignments: list[Any] = []
    trainer = learner(tmp_path, replace(LEARNS, preferred="success"), args=UPDATES | {"steps": 1})
    credit = trainer._credit
    trainer._credit = lambda *args: assignments.append(credit(*args)) or assignments[-1]
    trainer.train()
    batch = assignments[0].batch
    assert StopReason.SUCCESS.value not in batch.stop_reason
    np.testing.assert_array_equal(batch.aux["logp_prm"], batch.logp_old)
    assert log(trainer, "reward_model/reward_pairs") == [0.0]
    assert not log(trainer, "reward_model/reward_ranking")


@pytest.mark.parametrize(
    "changes",
    [{}, {"prompt": Prompt(BARE.windowed(1))}, {"preset": "forked"}],
    ids=["a row", "rows of turns", "forked"],
)
def test_it_descends_the_preference_loss_of_whole_episodes(changes, tmp_path):
    """Against the loss written down again, differentiated by torch, in passes of any size."""
    preset = ISTAR
    if changes.get("preset"):
        preset = replace(ISTAR, branching=Branching(EveryTurn(), roots=2))
    changes = {name: value for name, value in changes.items() if name != "preset"}
    trainer = learner(
        tmp_path, LEARNS, preset, micro_tokens=60, args=UPDATES | {"steps": 1}, **changes
    )
    reward = part(trainer, RewardModel)
    start_weights = exactly(reward.model)
    gradients: list[Any] = []
    reward.step = lambda: gradients.extend(p.grad.clone() for p in reward.model.parameters())
    trainer.train()
    sums, returns, groups = [], [], []
    for episode in trainer.trajectories:
        logps, _ = forward(start_weights, to_rows([episode]))
        # It began as the policy: the difference is 0, and its gradient is that of log pi_phi.
        sums.append(0.05 * (logps - logps.detach()).sum())
        returns.append(episode.episode_return)
        groups.append(episode.group)
    count = range(len(sums))
    pairs = [
        (i, j) for i in count for j in count
        if groups[i] == groups[j] and returns[i] > returns[j]
    ]  # fmt: skip
    assert len(pairs) > 10
    loss = -sum(logsigmoid(sums[i] - sums[j]) for i, j in pairs) / len(pairs)
    loss.backward()
    expected = torch.cat([p.grad.flatten() for p in start_weights.parameters()])
    gradient = torch.cat([part.flatten() for part in gradients]).double()
    assert float((gradient - expected).norm() / expected.norm()) < 1e-5
    assert log(trainer, "reward_model/reward_loss")[0] == pytest.approx(np.log(2.0))
    assert log(trainer, "reward_model/reward_pairs") == [len(pairs)]


@each_size
@pytest.mark.parametrize(
    "part",
    [
        WITHOUT,
        replace(ISTAR, terms=(STEPS,)),
        replace(ISTAR, terms=(OUTCOME, replace(STEPS, weight=0.5))),
        replace(ISTAR, terms=(OUTCOME, replace(STEPS, signal=Implicit(5.0)))),
        replace(ISTAR, terms=(OUTCOME, replace(STEPS, signal=Implicit(level="trajectory")))),
    ],
    ids=["left out", "alone", "weight", "beta", "level"],
)
def test_every_part_of_it_changes_the_weights(part, size, train_once):
    assert not same(train_once(size), train_once(size, LEARNS, part))


@pytest.mark.parametrize("change", [{"updates": 3}, {"lr": 0.02}, {"preferred": "success"}])
def test_how_it_learns_changes_the_weights(change, train_once):
    assert not same(train_once("all"), train_once("all", replace(LEARNS, **change)))


@each_size
def test_it_never_reaches_what_is_served_or_saved_as_the_policy(size, tmp_path):
    args, options = UPDATES | {"steps": 1, "save_every": 1}, SIZES[size]
    trainer = learner(tmp_path / "run", args=args, **options)
    plain_trainer = make_trainer(tmp_path / "plain", preset="rloo", **options)
    trainer.train()
    trainer.save_model(str(tmp_path / "policy"))
    plain_trainer.save_model(str(tmp_path / "without"))
    served, expected = (
        {name: value.shape for name, value in policy_weights(owner.model)}
        for owner in (trainer, plain_trainer)
    )
    assert served == expected
    for folder in (tmp_path / "policy", tmp_path / "run" / "checkpoint-2"):
        for file in (tmp_path / "without").glob("*.safetensors"):
            assert load_file(folder / file.name).keys() == load_file(file).keys()
    assert not (tmp_path / "policy" / REWARD_MODEL_FILE).exists()
    assert (tmp_path / "run" / "checkpoint-2" / REWARD_MODEL_FILE).exists()


def test_it_shares_the_base_below_adapters_and_nothing_that_is_trained(tmp_path):
    trainer = learner(tmp_path, **ADAPTERS)
    parameters, its = (
        dict(model.named_parameters())
        for model in (trainer.model, part(trainer, RewardModel).model)
    )
    assert parameters.keys() == its.keys()
    for name, weight in parameters.items():
        assert (its[name] is weight) == (not weight.requires_grad), name
    weights_before = {name: weight.detach().clone() for name, weight in parameters.items()}
    trainer.train()
    for name, weight in parameters.items():
        assert weight.requires_grad or torch.equal(weight, weights_before[name])
    plain_learner = learner(tmp_path)
    addresses = {weight.data_ptr() for weight in plain_learner.model.parameters()}
    assert not addresses & {
        weight.data_ptr() for weight in part(plain_learner, RewardModel).model.parameters()
    }


@pytest.mark.slow
@pytest.mark.parametrize("stop", [4, 5], ids=["between two steps", "within one"])
@each_size
def test_a_resumed_training_has_the_same_weights_and_moments(size, stop, tmp_path):
    settings, options = UPDATES | {"steps": 4, "save_every": 1}, SIZES[size]
    uninterrupted, resumed = (
        learner(tmp_path / name, args=settings | {"save_steps": steps}, **options)
        for name, steps in (("whole", stop), ("again", 4))
    )
    uninterrupted.train()
    resumed.train(resume_from_checkpoint=str(tmp_path / "whole" / f"checkpoint-{stop}"))
    assert same(weights(resumed.model), weights(uninterrupted.model))
    states = [
        flattened(
            part(trainer, RewardModel)._trained
            | {"o": part(trainer, RewardModel)._optimizer.state_dict()}
        )
        for trainer in (uninterrupted, resumed)
    ]
    assert states[0].keys() == states[1].keys() and len(states[0]) > 4
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


@pytest.fixture(scope="module")
def half_taught() -> Any:
    """A model that solves two of three easy tasks."""
    return warm_model(80)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_it_comes_to_rank_solved_episodes_above_others_that_it_has_not_seen(
    seed, half_taught, tmp_path
):
    """Each step ranks the episodes of that step before it learns from them."""
    settings = RewardModelSettings(lr=5e-3, updates=4)
    trainer = make_trainer(
        tmp_path,
        copy.deepcopy(half_taught),
        preset=ISTAR,
        parts={"reward_model": partial(RewardModel, settings=settings)},
        args={"steps": 7, "groups": 6, "group_size": 6, "lr": 1e-5, "seed": seed},
        envs=TextVectorEnv([ToyEnv] * 36),
        probe_every=0,
    )
    trainer.train()
    ranking = log(trainer, "reward_model/reward_ranking")
    assert ranking[0] == 0.5, "as a copy it tells none from another"
    assert np.mean(ranking[-3:]) > 0.8, ranking


def test_weights_that_are_divided_among_processes_are_refused(tmp_path):
    trainer = learner(tmp_path)
    next(trainer.model.parameters()).ds_id = 0
    with pytest.raises(NotSupported, match=r"ddp, fsdp2 or zero2 .* got zero3"):
        RewardModel(step_context(trainer.model, ISTAR))


def test_settings_of_a_reward_model_are_of_no_use_elsewhere(tmp_path):
    assert not make_trainer(
        tmp_path, preset="rloo", parts={"reward_model": partial(RewardModel, settings=LEARNS)}
    ).parts


def test_a_term_of_it_can_stand_beside_any_others(train_once):
    turns = get_preset("turn-loo")
    extra_signal = replace(
        turns, terms=(*turns.terms, Term(Implicit(), center="group", scale="group"))
    )
    assert not same(train_once("all", LEARNS, turns), train_once("all", LEARNS, extra_signal))
