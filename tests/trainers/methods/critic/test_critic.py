"""The critic of a training: what it learns, what it changes, and where it never goes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig
from safetensors.torch import load_file

from agentgym.core.outcome import Outcome
from agentgym.vector import TextVectorEnv
from tests.toy import COLOURS, ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import flattened, log, make_trainer, part, same, weights
from tests.trainers.grpo.test_trainer import Picky
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.algorithms.signals import RewardToGo
from trainers.methods.critic.critic import (
    CRITIC_FILE,
    Critic,
    CriticSettings,
    make_critic,
    value_errors,
)
from trainers.methods.critic.gae import GAE, BiLevelGAE, TurnGAE, value_targets
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.scoring.forward import TokenForward
from trainers.rollouts.trajectory import to_rows

PPO = get_preset("ppo")
UPDATES = {"minibatches": 2, "iterations": 2, "lr": 3e-3, "steps": 2}
ADAPTERS = {
    "peft_config": LoraConfig(r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM")
}
ZERO = CriticSettings("zero")
KINDS = {
    "head": CriticSettings(lr=0.01),
    "shared": CriticSettings(trunk="shared", lr=0.01),
    "model": CriticSettings("model", lr=0.01, updates=2),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def learner(folder: Any, critic: CriticSettings, preset: Preset = PPO, **changes: Any) -> Any:
    """A trainer with a critic, whose episodes pay for what the policy can learn."""
    options: dict[str, Any] = {
        "args": UPDATES, "envs": TextVectorEnv([Picky] * 16), "probe_every": 0, **changes,
    }  # fmt: skip
    return make_trainer(
        folder, preset=preset, parts={"critic": partial(make_critic, settings=critic)}, **options
    )


def trained(folder: Any, critic: CriticSettings, preset: Preset = PPO, **changes: Any) -> Any:
    """The weights of the policy after a short training."""
    trainer = learner(folder, critic, preset, **changes)
    trainer.train()
    return weights(trainer.model)


@pytest.fixture(scope="module")
def train_without_critic(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give the weights after a training without a critic, of all or of adapters, made once."""

    @cache
    def train(preset: Preset = PPO, adapters: bool = False) -> Any:
        folder, options = tmp_path_factory.mktemp("run"), ADAPTERS if adapters else {}
        return trained(folder, ZERO, preset, **options)

    return train


@pytest.mark.slow
def test_with_nothing_expected_every_estimate_trains_as_the_return_to_go(train_without_critic):
    """At lambda 1, over four updates whose ratios move away from 1."""
    to_go = replace(PPO, terms=(Term(RewardToGo()),))
    expected = train_without_critic(to_go)
    assert not same(expected, weights(tiny_policy.model()))
    for signal in (GAE(), TurnGAE(), BiLevelGAE()):
        trained_weights = train_without_critic(replace(PPO, terms=(Term(signal),)))
        assert same(trained_weights, expected, 1e-6), signal
    apart = train_without_critic(replace(PPO, terms=(Term(GAE(lam_turn=0.5)),)))
    assert not same(apart, expected, 1e-4)


@pytest.mark.slow
def test_so_do_adapters(train_without_critic):
    to_go = replace(PPO, terms=(Term(RewardToGo()),))
    expected, with_critic = (train_without_critic(preset, adapters=True) for preset in (to_go, PPO))
    assert same(with_critic, expected, 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, ADAPTERS], ids=["all", "adapters"])
def test_leaving_a_critic_out_changes_the_weights(options, train_without_critic, tmp_path):
    without = train_without_critic(adapters=bool(options))
    for kind, critic in KINDS.items():
        assert not same(trained(tmp_path, critic, **options), without), kind


def test_a_shared_trunk_is_trained_by_the_critics_error_and_a_detached_one_is_not(tmp_path):
    """Where no episode pays, the policy has nothing to learn and the critic has."""

    def error_alone(**critic: Any) -> Any:
        # All values are expected to be 1 at first, so that there is an error.
        trainer = learner(tmp_path, CriticSettings(lr=0.01, **critic), silent)
        part(trainer, Critic)._head.bias.data.fill_(1.0)
        trainer.train()
        return weights(trainer.model)

    silent = replace(PPO, terms=(Term(TurnGAE(), weight=0.0),), post=None)
    start = weights(tiny_policy.model())
    assert same(error_alone(), start)
    assert not same(error_alone(trunk="shared"), start)


@pytest.mark.slow
@every_kind
def test_while_it_warms_up_the_policy_stays_as_it_is_bit_by_bit(kind, tmp_path):
    critic = replace(KINDS[kind], warmup=2)
    trainer = learner(tmp_path, critic, args=UPDATES | {"steps": 3, "warmup": 2})
    after = []
    trainer._on_rollout = lambda event: after.append(
        (weights(trainer.model), part(trainer, Critic)._head.bias[0])
    )
    weights_before = weights(trainer.model)
    trainer.train()
    assert all(same(policy, weights_before) for policy, _ in after[:3]), (
        "as step 3 began it was trained"
    )
    assert float(part(trainer, Critic)._head.bias[0].detach()) != 0.0
    assert not same(weights(trainer.model), weights_before)
    # The warm-up of the rate begins when the policy does.
    assert log(trainer, "learning_rate")[:2] == [UPDATES["lr"] / 8] * 2


@every_kind
def test_values_of_a_batch_are_those_of_each_row_by_itself(kind, tmp_path):
    """In passes of any size, with any padding, before every sampled token."""
    trainer = learner(tmp_path, KINDS[kind], micro_tokens=60, args=UPDATES | {"steps": 1})
    capture: dict[str, Any] = {}
    credit = trainer._credit

    def credited(*args: Any) -> Any:
        capture["credit"] = credit(*args)
        return capture["credit"]

    trainer._credit = credited
    torch.nn.init.normal_(
        part(trainer, Critic)._head.weight, generator=torch.Generator().manual_seed(0)
    )
    head, bare = part(trainer, Critic)._head.weight.detach().clone(), tiny_policy.model().model
    trainer.train()
    values = []
    for row in to_rows(trainer.trajectories):
        states = bare(input_ids=torch.tensor([row.ids])).last_hidden_state[0]
        sampled = torch.tensor(row.mask[1:]).bool()
        values.append((states[:-1][sampled] @ head[0]).detach())
    batch_values = capture["credit"].batch.values
    np.testing.assert_allclose(batch_values, torch.cat(values).numpy(), atol=2e-6)
    assert np.abs(batch_values).max() > 0.1


class Chain(ToyEnv):
    """Four rooms in a row, whatever is done; the last one pays."""

    def _start(self, task: Any, rng: Any) -> str:
        super()._start(task, rng)
        self._room = task.index % len(COLOURS)
        return f"next is {COLOURS[self._room]}"

    def _act(self, action: str) -> Outcome:
        self._room += 1
        if self._room == len(COLOURS):
            return Outcome("the door opens", 1.0, True)
        return Outcome(f"next is {COLOURS[self._room]}")


def chain_errors(
    folder: Any, critic: CriticSettings, signal: Any, seed: int, steps: int
) -> list[float]:
    """Root mean square error of the values before each step, where the true ones are known."""
    loss = replace(PPO.loss, value_clip=None)
    trainer = make_trainer(
        folder,
        tiny_policy.model(seed),
        preset=replace(PPO, terms=(Term(signal),), loss=loss),
        parts={"critic": partial(make_critic, settings=replace(critic, warmup=steps))},
        args={"steps": steps, "seed": seed},
        envs=TextVectorEnv([Chain] * 16),
        horizon=4,
        probe_every=0,
    )
    errors, credit = [], trainer._credit

    def credited(*args: Any) -> Any:
        assigned_credit = credit(*args)
        batch, places = assigned_credit.batch, signal.places(assigned_credit.batch)
        residual = value_targets(batch, signal.monte_carlo()) - batch.values
        errors.append(float(np.sqrt((residual[places] ** 2).mean())))
        return assigned_credit

    trainer._credit = credited
    trainer.train()
    return errors


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_model_learns_the_values_of_a_chain(seed, tmp_path):
    """.8 for each room before the last: the return is certain, so its values are known.

    With lambda .5 half of what it learns are its own values.
    """
    critic = CriticSettings("model", lr=5e-3, updates=16)
    errors = chain_errors(tmp_path, critic, TurnGAE(0.8, 0.5), seed, steps=10)
    assert errors[0] > 0.8 and errors[-1] < 0.02, errors


@pytest.mark.slow
def test_a_head_learns_what_an_untrained_policy_tells_of_it(tmp_path):
    errors = chain_errors(tmp_path, CriticSettings(lr=0.03), TurnGAE(0.8, 0.5), 0, steps=8)
    assert errors[0] > 0.8 and errors[-1] < 0.15, errors


def test_the_error_of_a_value_and_its_clip_in_numbers():
    columns = {
        "value_targets": torch.tensor([1.0, 1.0, 1.0, 1.0]),
        "old_values": torch.tensor([0.0, 0.0, 0.0, 0.9]),
    }
    values = torch.tensor([0.2, 0.7, -0.7, 1.5], requires_grad=True)
    errors = value_errors(values, columns, 0.5)
    # Beyond the clip, towards the target: the error of .5 remains. Away from it: the error grows.
    np.testing.assert_allclose(errors.detach(), [0.32, 0.125, 1.445, 0.125], rtol=1e-6)
    errors.sum().backward()
    np.testing.assert_allclose(values.grad, [-0.8, 0.0, -1.7, 0.5], rtol=1e-6)
    plain_errors = value_errors(values.detach(), columns, None)
    np.testing.assert_allclose(plain_errors, [0.32, 0.045, 1.445, 0.125], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, ADAPTERS], ids=["all", "adapters"])
@every_kind
def test_a_critic_never_reaches_what_is_served_or_saved_as_the_policy(kind, options, tmp_path):
    trainer = learner(
        tmp_path / "run", KINDS[kind], args=UPDATES | {"steps": 1, "save_every": 1}, **options
    )
    plain_trainer = make_trainer(tmp_path / "plain", preset="rloo", **options)
    trainer.train()
    trainer.save_model(str(tmp_path / "policy"))
    plain_trainer.save_model(str(tmp_path / "without"))
    served, expected = (
        {name: value.shape for name, value in policy_weights(owner.model)}
        for owner in (trainer, plain_trainer)
    )
    assert served == expected
    assert len(trainer.model.state_dict()) == len(plain_trainer.model.state_dict())
    for folder in (tmp_path / "policy", tmp_path / "run" / "checkpoint-4"):
        for file in (tmp_path / "without").glob("*.safetensors"):
            assert load_file(folder / file.name).keys() == load_file(file).keys()
    assert not (tmp_path / "policy" / CRITIC_FILE).exists()
    assert (tmp_path / "run" / "checkpoint-4" / CRITIC_FILE).exists()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [8, 10], ids=["between two steps", "within one"])
@every_kind
def test_a_resumed_training_has_the_same_weights_values_and_moments(kind, stop, tmp_path):
    """Saved after update 8 or 10 of 16, four to a step; the clip and warm-up of the values act."""
    critic = replace(KINDS[kind], warmup=1)
    settings = UPDATES | {"steps": 4, "save_every": 1, "save_steps": stop}
    uninterrupted, resumed = (
        learner(tmp_path / name, critic, args=settings | {"save_steps": steps})
        for name, steps in (("whole", stop), ("again", 4))
    )
    uninterrupted.train()
    resumed.train(resume_from_checkpoint=str(tmp_path / "whole" / f"checkpoint-{stop}"))
    assert same(weights(resumed.model), weights(uninterrupted.model))
    states = [
        part(trainer, Critic)._trained | {"states": part(trainer, Critic)._optimizer.state_dict()}
        for trainer in (uninterrupted, resumed)
    ]
    flat = [flattened(state) for state in states]
    assert flat[0].keys() == flat[1].keys() and len(flat[0]) > 4
    for name, value in flat[0].items():
        assert torch.equal(value, flat[1][name]), name


def test_the_share_of_the_variance_that_it_foresaw_is_logged(tmp_path):
    figures: list[Any] = []
    trainer = learner(
        tmp_path, KINDS["head"], on_rollout=lambda event: figures.append(event.metrics)
    )
    trainer.train()
    explained = [metrics["critic/explained_variance"] for metrics in figures]
    assert explained[0] == 0.0 != explained[1], "at first nothing is expected"
    assert len(log(trainer, "critic/value_loss")) == 2


def test_hidden_states_are_not_passed_on_unless_they_are_read(tmp_path):
    """The engine runs the same backbone at every token."""
    trainer = learner(tmp_path, KINDS["head"], args=UPDATES | {"steps": 1})
    trainer.train()
    assert isinstance(trainer._forward, TokenForward)
    assert not trainer.model.model._forward_hooks
    assert not part(trainer, Critic)._pass_states


def test_a_settings_file_of_a_critic_is_of_no_use_elsewhere(tmp_path: Path):
    trainer = make_trainer(
        tmp_path, preset="rloo", parts={"critic": partial(make_critic, settings=KINDS["head"])}
    )
    assert not trainer.parts
