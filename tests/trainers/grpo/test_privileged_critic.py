"""SWEET-RL's critic: what it sees, what it learns, and which actions it pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from datasets import Dataset
from trl import DPOConfig, DPOTrainer
from trl.trainer.utils import add_fused_lm_head

from agentgym.conversation import BARE, Prompt
from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream
from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, trainer, weights
from tests.trainers.grpo.test_critic import same
from tests.trainers.grpo.test_trainer import Picky
from trainers.algorithms.advantage import Term
from trainers.algorithms.preferences import Preference, TurnPreference, bradley_terry, ranked
from trainers.algorithms.presets import get_preset
from trainers.grpo.advantages import assign_credit, loss_columns
from trainers.grpo.critic import CriticSettings
from trainers.grpo.forward import TokenForward
from trainers.grpo.privileged_critic import PLAN, PLAN_TOKENS, PrivilegedCritic, _drawn_pair
from trainers.grpo.tensors import row_tensors, sampled_mask, scatter_tokens
from trainers.grpo.turn_critic import TurnCriticParts, imagined
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows

SWEET = get_preset("sweet")


def headed(model: Any) -> Any:
    """A model with the head that TRL gives those that it trains."""
    add_fused_lm_head(model, outputs={"log_probs", "entropy"})
    return model


def critic(plan: Any = None, updates: int = 2, **changes: Any) -> PrivilegedCritic:
    """A critic of the smallest policy, apart from any training."""
    accelerator, policy = Accelerator(cpu=True), headed(tiny_policy.model())
    parts = TurnCriticParts(
        CriticSettings("model", lr=5e-3, updates=updates), accelerator, policy,
        TokenForward(accelerator, policy, logits_mib=16), tiny_policy.chat().tokenizer, 120,
        plan or (lambda episode: "press red"),
    )  # fmt: skip
    return PrivilegedCritic(parts, TurnPreference(**changes))


def episodes(count: int = 8) -> list[Trajectory]:
    """Expert episodes in pairs, of which every second one is paid less."""
    shown = tiny_policy.demonstrate(count, tiny_policy.chat())
    for number, each in enumerate(shown):
        each.group, each.stop_reason = number // 2, "success"
        each.turns[-1].reward = 1.0 - 0.5 * (number % 2)
    return shown


def act(prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[Completion]:
    """Write one of six tokens."""
    return [Completion([6 + seed % 6, 5], [-1.0, -2.0]) for seed in seeds]


def test_at_first_every_action_is_as_good_as_any():
    made = critic()
    texts = made._texts([made._rows_of(each) for each in episodes(4)])
    assert made._scores(texts, 4).abs().max() == 0.0


def advantages(made: PrivilegedCritic, episode: Trajectory) -> float:
    """The sum of the advantages of the turns, row by row and turn by turn."""
    plan = made._tokenizer.encode(PLAN.format(made._plan(episode)), add_special_tokens=False)
    [row] = to_rows([episode])
    ids = torch.tensor([[*plan, *row.ids]])
    total, place = 0.0, len(plan)
    logps = []
    for model in (made._head, made._reference):
        # Not by its own forward: TRL's patch keeps that of the model it was copied from.
        states = model.model(input_ids=ids).last_hidden_state[0]
        found = torch.log_softmax(model.lm_head(states).double(), -1)
        logps.append(found[:-1].gather(1, ids[0, 1:, None])[:, 0])
    ratio = (logps[0] - logps[1]).detach()
    for turn in episode.turns:
        place += len(turn.context)
        total += float(ratio[place - 1 : place - 1 + len(turn.ids)].mean())
        place += len(turn.ids)
    return total


def test_an_update_follows_the_gradient_of_the_pairs_by_hand():
    """Loss and gradient of the critic against a plain forward and autograd of the formula."""
    made, shown = critic(updates=1, critic_beta=0.5), episodes(4)
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for each in made._head.parameters():
            each += 0.05 * torch.randn(each.shape, generator=random)
    texts = made._texts([made._rows_of(each) for each in shown])
    scores = made._scores(texts, 4).tolist()
    assert scores == pytest.approx([advantages(made, each) for each in shown], abs=1e-5)
    assert max(map(abs, scores)) > 0.01
    pairs = ranked([each.episode_return for each in shown], [each.group for each in shown])
    assert pairs.tolist() == [[0, 1], [2, 3]]
    found = bradley_terry(np.array(scores), pairs, 0.5)
    made._head.zero_grad()
    made._descend(texts, found.slope)
    gradient = [each.grad.clone() for each in made._head.parameters()]
    # The derivative of the loss along the gradient is its squared norm.
    step = 1e-3 / float(sum((each**2).sum() for each in gradient)) ** 0.5
    losses = []
    for sign in (1.0, -1.0):
        with torch.no_grad():
            for weight, slope in zip(made._head.parameters(), gradient, strict=True):
                weight += sign * step * slope * (1.0 if sign > 0 else 2.0)
        now = made._scores(texts, 4).numpy()
        losses.append(bradley_terry(now, pairs, 0.5).loss)
    norm = float(sum((each**2).sum() for each in gradient)) ** 0.5
    assert (losses[0] - losses[1]) / 2e-3 == pytest.approx(norm, rel=0.02)


@pytest.mark.slow
def test_it_learns_to_rank_the_episodes_of_a_task():
    made, shown = critic(updates=12), episodes(8)
    first = made._learn(shown)
    assert (first["critic/pairs"], first["critic/pairs_right"]) == (4.0, 0.0)
    assert made._learn(shown)["critic/pairs_right"] == 1.0
    assert made._learn(shown)["critic/value_loss"] < np.log(2)


def test_equal_returns_and_lost_episodes_teach_nothing():
    made, shown = critic(), episodes(4)
    equal = [replace(each, group=number) for number, each in enumerate(shown)]
    before = weights(made._head)
    assert made._learn(equal) == {"critic/pairs": 0.0}
    assert same(weights(made._head), before)


def test_the_critic_reads_the_plan_and_the_policy_does_not():
    plans: list[str] = []

    def plan(episode: Trajectory) -> str:
        plans.append(episode.task_id)
        return "press gold " * 2000

    made, shown = critic(plan), episodes(4)
    [row], _ = made._rows_of(shown[0])
    [without] = to_rows([shown[0]])
    assert len(row.ids) == PLAN_TOKENS + len(without.ids) and plans == [shown[0].task_id]
    assert row.ids[PLAN_TOKENS:] == without.ids and not any(row.mask[:PLAN_TOKENS])
    judged = made.study(1, 0, shown, range(8), act)
    gold = made._tokenizer.encode("gold", add_special_tokens=False)
    read = [turn.context for each in judged.trajectories for turn in each.turns]
    assert all(ids.count(gold[0]) <= 5 for ids in read)


def test_what_it_says_depends_on_the_plan():
    scores = []
    for word in ("red", "gold"):
        made = critic(lambda episode, word=word: f"press {word} " * 3, updates=5)
        made._learn(shown := episodes(4))
        scores.append(made._scores(made._texts([made._rows_of(each) for each in shown]), 4))
    assert not torch.allclose(*scores)


def test_pairs_are_of_one_from_the_better_half_and_one_from_the_other():
    made = critic(updates=4, candidates=6, pairs=3)
    judged = made.study(1, 0, episodes(8), range(12), act)
    pairs = [judged.trajectories[at : at + 2] for at in range(0, 12, 2)]
    assert [pair[0].group for pair in pairs] == list(range(6)) == [p[1].group for p in pairs]
    for better, other in pairs:
        assert better.turns[0].context == other.turns[0].context
        assert better.episode_return >= other.episode_return
    # Three pairs share a state, whichever process has them.
    assert pairs[0][0].turns[0].context == pairs[2][0].turns[0].context
    again = critic(updates=4, candidates=6, pairs=3)
    part = again.study(1, 0, episodes(8), range(4, 12), act).trajectories
    assert [each.turns[0].ids for each in part] == [
        each.turns[0].ids for each in judged.trajectories[4:]
    ]
    assert [each.episode_return for each in part] == pytest.approx(
        [each.episode_return for each in judged.trajectories[4:]], abs=1e-6
    )
    drawn = {_drawn_pair(np.array([3.0, 1.0, 2.0, 0.0]), Stream("p", at)) for at in range(60)}
    assert drawn == {(0, 1), (0, 3), (2, 1), (2, 3)}


@pytest.mark.parametrize("share", [range(3), range(3, 6)])
def test_an_odd_number_of_episodes_makes_no_pairs(share):
    with pytest.raises(ConfigurationError, match="expected an even number of episodes"):
        critic().study(1, 0, episodes(4), share, act)


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
        for each in model.parameters():
            each += 0.1 * torch.randn(each.shape, generator=random)
    return model


def gradients(model: Any) -> torch.Tensor:
    return torch.cat([each.grad.flatten() for each in model.parameters()])


def test_its_gradient_is_that_of_trls_dpo_trainer(tmp_path):
    """Of the same pairs, policy and reference, with the loss as TRL computes it."""
    theirs = DPOTrainer(
        moved(tiny_policy.model()),
        ref_model=tiny_policy.model(),
        args=DPOConfig(str(tmp_path), beta=0.3, report_to=[], use_cpu=True, bf16=False,
                       gradient_checkpointing=False, max_length=None),
        train_dataset=Dataset.from_list([{"prompt": "red", "chosen": "blue", "rejected": "gold"}]),
        processing_class=tiny_policy.tokenizer(),
    )  # fmt: skip
    collated = theirs.data_collator(
        [{"prompt_ids": a, "chosen_ids": b, "rejected_ids": c} for a, b, c in PAIRS]
    )
    loss = theirs._compute_loss(theirs.model, collated, return_outputs=False)
    loss.backward()
    made = trainer(
        tmp_path,
        moved(tiny_policy.model()),
        preset=replace(get_preset("dpo"), terms=(Term(Preference(beta=0.3, nll=0.0)),)),
        args={"group_size": 2},
    )
    pairs = [
        imagined(pair, prompt, Completion(ids, [0.0] * len(ids)), worth)
        for pair, (prompt, chosen, rejected) in enumerate(PAIRS)
        for ids, worth in ((chosen, 1.0), (rejected, 0.0))
    ]
    rows = row_tensors(to_rows(pairs), 0, torch.device("cpu"))
    mask = sampled_mask(rows)
    old, reference = (
        made._forward.logps(model, rows)[mask].double().numpy()
        for model in (made.model, headed(tiny_policy.model()))
    )
    given: Any = {"aux": {"logp_ref": reference}, "logp_old": old}
    credit = assign_credit(pairs, made.preset, **given)
    of_actions = replace(SWEET, terms=(Term(TurnPreference(beta=0.3, nll=0.0)),))
    np.testing.assert_array_equal(
        credit.advantage, assign_credit(pairs, of_actions, **given).advantage
    )
    columns = loss_columns(credit, made.preset.loss, several_updates=False)
    inputs = {
        **rows,
        **{name: scatter_tokens(values, mask) for name, values in columns.items()},
        "num_items_in_batch": torch.tensor(int(credit.train.sum())),
    }
    made.model.zero_grad()
    made._part_loss(made.model, inputs)[0].backward()
    torch.testing.assert_close(gradients(made.model), gradients(theirs.model), rtol=1e-4, atol=1e-6)
    assert gradients(made.model).abs().max() > 1e-3
    ratios = np.array([r.sum() for r in np.split(old - reference, np.cumsum(
        [len(each.turns[0].ids) for each in pairs])[:-1])])  # fmt: skip
    ours = bradley_terry(ratios, np.array([[0, 1], [2, 3], [4, 5]]), 0.3).loss
    assert ours == pytest.approx(float(loss.detach()), rel=1e-5)


# -- in a training ---------------------------------------------------------------------------------


def sweet(folder: Path, **changes: Any) -> Any:
    """A trainer of pairs."""
    options: dict[str, Any] = {
        "preset": replace(SWEET, terms=(Term(TurnPreference(candidates=4)),)),
        "critic": CriticSettings("model", lr=3e-3, updates=2),
        "args": {"lr": 3e-3, "steps": 2}, "plan": lambda episode: "press red", "probe_every": 0,
        "envs": TextVectorEnv([Picky] * 16), **changes,
    }  # fmt: skip
    return trainer(folder, **options)


def test_the_plan_changes_what_the_policy_becomes(tmp_path):
    """The only way in which the policy learns of it."""
    told = sweet(tmp_path)
    told.train()
    untold = sweet(tmp_path, plan=lambda episode: "press gold then gold then gold")
    untold.train()
    assert not same(weights(told.model), weights(untold.model))
    assert len(log(told, "critic/pairs")) == 2
    assert all(len(each.turns) == 1 for each in told.trajectories)


def test_without_plans_it_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="expected the expert's plan of an episode"):
        sweet(tmp_path, plan=None)


def test_a_window_makes_several_rows_of_an_episode(tmp_path):
    made = sweet(tmp_path, prompt=Prompt(BARE.windowed(1)))
    made.train()
    assert len(log(made, "critic/pairs")) == 2


def test_a_text_of_many_rows_has_the_score_of_all_of_them():
    made = critic()
    with torch.no_grad():
        for each in made._head.parameters():
            each += 0.1
    turns = [
        SampledTurn([4, 9], [10], [0.0], fresh=True),
        SampledTurn([4, 8], [9], [0.0], fresh=True),
    ]
    both = made._texts([made._rows_of(Trajectory(turns=turns))])
    alone = [made._texts([made._rows_of(Trajectory(turns=[turn]))]) for turn in turns]
    expected = sum(float(made._scores(each, 1)) for each in alone)
    assert float(made._scores(both, 1)) == pytest.approx(expected, abs=1e-5)
