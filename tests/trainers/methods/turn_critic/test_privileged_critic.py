"""SWEET-RL's critic: what it sees, what it learns, and which actions it pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from trl import DPOConfig, DPOTrainer
from trl.trainer.utils import add_fused_lm_head

from agentgym.conversation import BARE, Prompt
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream
from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, make_trainer, same, step_context, weights
from tests.trainers.grpo.test_trainer import Picky
from trainers.algorithms.advantage import Term
from trainers.algorithms.preferences import Preference, bradley_terry, ranked
from trainers.algorithms.presets import get_preset
from trainers.grpo.advantages import assign_credit, loss_columns
from trainers.methods.turn_critic.credit import TurnPreference
from trainers.methods.turn_critic.kinds import make_turn_critic
from trainers.methods.turn_critic.privileged_critic import (
    PLAN,
    PLAN_TOKENS,
    PrivilegedCritic,
    _drawn_pair,
)
from trainers.methods.turn_critic.turn_critic import TurnCriticSettings, imagined
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.scoring.tensors import row_tensors, sampled_mask, scatter_tokens
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows

SWEET = get_preset("sweet")


def headed(model: Any) -> Any:
    """A model with the head that TRL gives those that it trains."""
    add_fused_lm_head(model, outputs={"log_probs", "entropy"})
    return model


def make_critic(plan: Any = None, updates: int = 2, **changes: Any) -> PrivilegedCritic:
    """A critic of the smallest policy, apart from any training."""
    context = step_context(headed(tiny_policy.model()), SWEET, 120)
    settings = TurnCriticSettings(lr=5e-3, updates=updates)
    plan = plan or (lambda episode: "press red")
    return PrivilegedCritic(context, settings, TurnPreference(**changes), plan)


def episodes(count: int = 8) -> list[Trajectory]:
    """Expert episodes in pairs, of which every second one is paid less."""
    trajectories = tiny_policy.demonstrate(count, tiny_policy.chat())
    for number, trajectory in enumerate(trajectories):
        trajectory.group, trajectory.stop_reason = number // 2, "success"
        trajectory.turns[-1].reward = 1.0 - 0.5 * (number % 2)
    return trajectories


def act(prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Completion]:
    """Write one of six tokens."""
    return [Completion([6 + seed % 6, 5], [-1.0, -2.0]) for seed in seeds]


def test_at_first_every_action_is_as_good_as_any():
    critic = make_critic()
    texts = critic._texts([critic._rows_of(episode) for episode in episodes(4)])
    assert critic._scores(texts, 4).abs().max() == 0.0


def advantages(critic: PrivilegedCritic, episode: Trajectory) -> float:
    """The sum of the advantages of the turns, row by row and turn by turn."""
    plan = critic._tokenizer.encode(PLAN.format(critic._plan(episode)), add_special_tokens=False)
    [row] = to_rows([episode])
    ids = torch.tensor([[*plan, *row.ids]])
    total, place = 0.0, len(plan)
    logps = []
    for model in (critic._head, critic._reference):
        # Not by its own forward: TRL's patch keeps that of the model it was copied from.
        states = model.model(input_ids=ids).last_hidden_state[0]
        log_probs = torch.log_softmax(model.lm_head(states).double(), -1)
        logps.append(log_probs[:-1].gather(1, ids[0, 1:, None])[:, 0])
    ratio = (logps[0] - logps[1]).detach()
    for turn in episode.turns:
        place += len(turn.context)
        total += float(ratio[place - 1 : place - 1 + len(turn.ids)].mean())
        place += len(turn.ids)
    return total


def test_an_update_follows_the_gradient_of_the_pairs_by_hand():
    """Loss and gradient of the critic against a plain forward and autograd of the formula."""
    critic, trajectories = make_critic(updates=1, critic_beta=0.5), episodes(4)
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in critic._head.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=random)
    texts = critic._texts([critic._rows_of(trajectory) for trajectory in trajectories])
    scores = critic._scores(texts, 4).tolist()
    assert scores == pytest.approx(
        [advantages(critic, trajectory) for trajectory in trajectories], abs=1e-5
    )
    assert max(map(abs, scores)) > 0.01
    pairs = ranked(
        [trajectory.episode_return for trajectory in trajectories],
        [trajectory.group for trajectory in trajectories],
    )
    assert pairs.tolist() == [[0, 1], [2, 3]]
    preference = bradley_terry(np.array(scores), pairs, 0.5)
    critic._head.zero_grad()
    critic._descend(texts, preference.slope)
    gradient = [parameter.grad.clone() for parameter in critic._head.parameters()]
    # The derivative of the loss along the gradient is its squared norm.
    step = 1e-3 / float(sum((part**2).sum() for part in gradient)) ** 0.5
    losses = []
    for sign in (1.0, -1.0):
        with torch.no_grad():
            for weight, slope in zip(critic._head.parameters(), gradient, strict=True):
                weight += sign * step * slope * (1.0 if sign > 0 else 2.0)
        values = critic._scores(texts, 4).numpy()
        losses.append(bradley_terry(values, pairs, 0.5).loss)
    norm = float(sum((part**2).sum() for part in gradient)) ** 0.5
    assert (losses[0] - losses[1]) / 2e-3 == pytest.approx(norm, rel=0.02)


@pytest.mark.slow
def test_it_learns_to_rank_the_episodes_of_a_task():
    critic, trajectories = make_critic(updates=12), episodes(8)
    first = critic._learn(trajectories)
    assert (first["critic/pairs"], first["critic/pairs_right"]) == (4.0, 0.0)
    assert critic._learn(trajectories)["critic/pairs_right"] == 1.0
    assert critic._learn(trajectories)["critic/value_loss"] < np.log(2)


def test_equal_returns_and_lost_episodes_teach_nothing():
    critic, trajectories = make_critic(), episodes(4)
    equal = [replace(trajectory, group=number) for number, trajectory in enumerate(trajectories)]
    weights_before = weights(critic._head)
    assert critic._learn(equal) == {"critic/pairs": 0.0}
    assert same(weights(critic._head), weights_before)


def test_the_critic_reads_the_plan_and_the_policy_does_not():
    plans: list[str] = []

    def plan(episode: Trajectory) -> str:
        plans.append(episode.task_id)
        return "press gold " * 2000

    critic, trajectories = make_critic(plan), episodes(4)
    [row], _ = critic._rows_of(trajectories[0])
    [without] = to_rows([trajectories[0]])
    assert len(row.ids) == PLAN_TOKENS + len(without.ids) and plans == [trajectories[0].task_id]
    assert row.ids[PLAN_TOKENS:] == without.ids and not any(row.mask[:PLAN_TOKENS])
    judged = critic.study(1, 0, trajectories, range(8), act)
    gold = critic._tokenizer.encode("gold", add_special_tokens=False)
    contexts = [turn.context for trajectory in judged.trajectories for turn in trajectory.turns]
    assert all(ids.count(gold[0]) <= 5 for ids in contexts)


def test_what_it_says_depends_on_the_plan():
    scores = []
    for word in ("red", "gold"):
        critic = make_critic(lambda episode, word=word: f"press {word} " * 3, updates=5)
        critic._learn(trajectories := episodes(4))
        scores.append(
            critic._scores(
                critic._texts([critic._rows_of(trajectory) for trajectory in trajectories]), 4
            )
        )
    assert not torch.allclose(*scores)


def test_pairs_are_of_one_from_the_better_half_and_one_from_the_other():
    critic = make_critic(updates=4, candidates=6, pairs=3)
    judged = critic.study(1, 0, episodes(8), range(12), act)
    pairs = [judged.trajectories[start : start + 2] for start in range(0, 12, 2)]
    assert [pair[0].group for pair in pairs] == list(range(6)) == [p[1].group for p in pairs]
    for better, worse in pairs:
        assert better.turns[0].context == worse.turns[0].context
        assert better.episode_return >= worse.episode_return
    # Three pairs share a state, whichever process has them.
    assert pairs[0][0].turns[0].context == pairs[2][0].turns[0].context
    twin = make_critic(updates=4, candidates=6, pairs=3)
    part = twin.study(1, 0, episodes(8), range(4, 12), act).trajectories
    assert [trajectory.turns[0].ids for trajectory in part] == [
        trajectory.turns[0].ids for trajectory in judged.trajectories[4:]
    ]
    assert [trajectory.episode_return for trajectory in part] == pytest.approx(
        [trajectory.episode_return for trajectory in judged.trajectories[4:]], abs=1e-6
    )
    drawn = {_drawn_pair(np.array([3.0, 1.0, 2.0, 0.0]), Stream("p", key)) for key in range(60)}
    assert drawn == {(0, 1), (0, 3), (2, 1), (2, 3)}


@pytest.mark.parametrize("share", [range(3), range(3, 6)])
def test_an_odd_number_of_episodes_makes_no_pairs(share):
    with pytest.raises(ConfigurationError, match="expected an even number of episodes"):
        make_critic().study(1, 0, episodes(4), share, act)


# -- DPO -------------------------------------------------------------------------------------------

PAIRS = [
    ([4, 9, 12], [10, 11, 1], [7, 1]),
    ([4, 8], [9, 1], [12, 13, 10, 1]),
    ([4, 14, 9, 12, 6], [6, 1], [8, 8, 1]),
]
"""Prompt, chosen and rejected of each pair, as tokens."""


def moved(model: Any) -> Any:
    """A policy some updates away from its reference."""
    random = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=random)
    return model


def gradients(model: Any) -> torch.Tensor:
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def test_its_gradient_is_that_of_trls_dpo_trainer(tmp_path):
    """Of the same pairs, policy and reference, with the loss as TRL computes it."""
    dpo_trainer = DPOTrainer(
        moved(tiny_policy.model()),
        ref_model=tiny_policy.model(),
        args=DPOConfig(str(tmp_path), beta=0.3, report_to=[], use_cpu=True, bf16=False,
                       gradient_checkpointing=False, max_length=None),
        train_dataset=Dataset.from_list([{"prompt": "red", "chosen": "blue", "rejected": "gold"}]),
        processing_class=tiny_policy.tokenizer(),
    )  # fmt: skip
    collated = dpo_trainer.data_collator(
        [{"prompt_ids": a, "chosen_ids": b, "rejected_ids": c} for a, b, c in PAIRS]
    )
    loss = dpo_trainer._compute_loss(dpo_trainer.model, collated, return_outputs=False)
    loss.backward()
    trainer = make_trainer(
        tmp_path,
        moved(tiny_policy.model()),
        preset=replace(get_preset("dpo"), terms=(Term(Preference(beta=0.3, nll=0.0)),)),
        args={"group_size": 2},
    )
    pairs = [
        imagined(pair, prompt, Completion(ids, [0.0] * len(ids)), worth)
        for pair, (prompt, preferred, rejected) in enumerate(PAIRS)
        for ids, worth in ((preferred, 1.0), (rejected, 0.0))
    ]
    rows = row_tensors(to_rows(pairs), 0, torch.device("cpu"))
    mask = sampled_mask(rows)
    old, reference = (
        trainer._forward.logps(model, rows)[mask].double().numpy()
        for model in (trainer.model, headed(tiny_policy.model()))
    )
    options: Any = {"aux": {"logp_ref": reference}, "logp_old": old}
    credit = assign_credit(pairs, trainer.preset, **options)
    of_actions = replace(SWEET, terms=(Term(TurnPreference(beta=0.3, nll=0.0)),))
    np.testing.assert_array_equal(
        credit.advantage, assign_credit(pairs, of_actions, **options).advantage
    )
    columns = loss_columns(credit, trainer.preset.loss, several_updates=False)
    inputs = {
        **rows,
        **{name: scatter_tokens(values, mask) for name, values in columns.items()},
        "num_items_in_batch": torch.tensor(int(credit.train.sum())),
    }
    trainer.model.zero_grad()
    trainer._part_loss(trainer.model, inputs)[0].backward()
    torch.testing.assert_close(
        gradients(trainer.model), gradients(dpo_trainer.model), rtol=1e-4, atol=1e-6
    )
    assert gradients(trainer.model).abs().max() > 1e-3
    ratios = np.array([r.sum() for r in np.split(old - reference, np.cumsum(
        [len(trajectory.turns[0].ids) for trajectory in pairs])[:-1])])  # fmt: skip
    preference_loss = bradley_terry(ratios, np.array([[0, 1], [2, 3], [4, 5]]), 0.3).loss
    assert preference_loss == pytest.approx(float(loss.detach()), rel=1e-5)


# -- in a training ---------------------------------------------------------------------------------


def sweet(folder: Path, plan: Any = lambda episode: "press red", **changes: Any) -> Any:
    """A trainer of pairs."""
    settings = TurnCriticSettings(lr=3e-3, updates=2)
    options: dict[str, Any] = {
        "preset": replace(SWEET, terms=(Term(TurnPreference(candidates=4)),)),
        "parts": {"turn_critic": partial(make_turn_critic, settings=settings, plan=plan)},
        "args": {"lr": 3e-3, "steps": 2}, "probe_every": 0,
        "envs": TextVectorEnv([Picky] * 16), **changes,
    }  # fmt: skip
    return make_trainer(folder, **options)


def test_the_plan_changes_what_the_policy_becomes(tmp_path):
    """The only way in which the policy learns of it."""
    informed = sweet(tmp_path)
    informed.train()
    untold = sweet(tmp_path, plan=lambda episode: "press gold then gold then gold")
    untold.train()
    assert not same(weights(informed.model), weights(untold.model))
    assert len(log(informed, "critic/pairs")) == 2
    assert all(len(trajectory.turns) == 1 for trajectory in informed.trajectories)


def test_without_plans_it_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="expected the expert's plan of an episode"):
        sweet(tmp_path, plan=None)


def test_a_window_makes_several_rows_of_an_episode(tmp_path):
    trainer = sweet(tmp_path, prompt=Prompt(BARE.windowed(1)))
    trainer.train()
    assert len(log(trainer, "critic/pairs")) == 2


def test_a_text_of_many_rows_has_the_score_of_all_of_them():
    critic = make_critic()
    with torch.no_grad():
        for parameter in critic._head.parameters():
            parameter += 0.1
    turns = [
        SampledTurn([4, 9], [10], [0.0], fresh=True),
        SampledTurn([4, 8], [9], [0.0], fresh=True),
    ]
    joint = critic._texts([critic._rows_of(Trajectory(turns=turns))])
    alone = [critic._texts([critic._rows_of(Trajectory(turns=[turn]))]) for turn in turns]
    expected = sum(float(critic._scores(texts, 1)) for texts in alone)
    assert float(critic._scores(joint, 1)) == pytest.approx(expected, abs=1e-5)
