from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agentgym.errors import ConfigurationError
from trainers.algorithms.filters import HarnessEndings
from trainers.algorithms.loss import Loss
from trainers.algorithms.presets import get_preset
from trainers.grpo.advantages import assign_credit
from trainers.grpo.trl_arguments import REFUSED, check_arguments, grpo_arguments
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.trajectory import SampledTurn, Trajectory

RLOO = get_preset("rloo")


def episode(reward, stop="success", group=0, lengths=(1, 2)):
    turns = [
        SampledTurn([9], list(range(n)), [-1.0] * n, fresh=k == 0, text=str(k), state_key=str(k))
        for k, n in enumerate(lengths)
    ]
    turns[-1].reward = reward
    return Trajectory(group=group, turns=turns, stop_reason=stop, success=reward > 0)


def test_failed_episodes_leave_loss_and_baseline():
    group = [episode(1.0), episode(0.0), episode(7.0, "error")]
    credit = assign_credit(group, RLOO)
    assert credit.train.tolist() == [True] * 6 + [False] * 3
    assert credit.advantage.tolist() == [1.0] * 3 + [-1.0] * 3 + [0.0] * 3


def test_harness_endings_train_nothing_but_stay_in_the_baseline():
    group = [episode(1.0), episode(0.0, "horizon"), episode(0.0, "token_limit")]
    credit = assign_credit(group, replace(RLOO, filters=(HarnessEndings(),)))
    assert credit.train.tolist() == [True] * 3 + [False] * 6
    assert credit.advantage.tolist() == [1.0] * 3 + [0.0] * 6
    assert credit.metrics["credit/trained_fraction"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("filters", [(), (HarnessEndings(),)])
def test_an_action_on_which_an_environment_raises_is_trained_on(filters):
    group = [episode(1.0), episode(0.0, "action_error")]
    credit = assign_credit(group, replace(RLOO, filters=filters))
    assert credit.train.all() and credit.advantage.tolist() == [1.0] * 3 + [-1.0] * 3


def test_zero_variance_groups_are_dropped():
    episodes = [episode(1.0), episode(1.0), episode(1.0, group=1), episode(0.0, group=1)]
    credit = assign_credit(episodes, get_preset("dapo").within(99))
    assert credit.train.tolist() == [False] * 6 + [True] * 6
    assert credit.metrics["credit/zero_variance_groups"] == 0.5


def test_groups_are_dropped_for_equal_outcomes_before_lengths_are_punished():
    """DAPO samples until a group has right and wrong answers; lengths are no answers."""
    equal = [episode(1.0, lengths=(4,)), episode(1.0, lengths=(8,))]
    mixed = [episode(1.0, group=1, lengths=(4,)), episode(0.0, group=1, lengths=(8,))]
    credit = assign_credit([*equal, *mixed], get_preset("dapo").within(8))
    assert credit.train.tolist() == [False] * 12 + [True] * 12
    assert credit.batch.returns.tolist() == pytest.approx([1.0, 0.0, 1.0, -1.0])


def test_weights_of_the_aggregation():
    episodes = [episode(1.0, lengths=(1,)), episode(0.0, lengths=(3,))]
    preset = replace(RLOO, loss=Loss(aggregation="seq-mean-token-mean"))
    credit = assign_credit(episodes, preset)
    assert credit.advantage.tolist() == pytest.approx([1.0, -1.0, -1.0, -1.0])
    # 4 tokens, 2 rows: weight * T is 4 / 2 / 1 for the short row and 4 / 2 / 3 for the long one.
    assert credit.weight.tolist() == pytest.approx([2.0, 2 / 3, 2 / 3, 2 / 3])
    const = assign_credit(episodes, get_preset("dr_grpo").within(8))
    assert const.weight.tolist() == pytest.approx([4 / (2 * 8)] * 4)


def test_importance_weights_of_an_inexact_engine_are_capped():
    episodes = [episode(1.0, lengths=(2,)), episode(0.0, lengths=(1,))]
    old = np.array([-1.0 + np.log(1.5), -1.0 + np.log(9.0), -1.0])
    plain_batch = assign_credit(episodes, RLOO, logp_old=old)
    assert plain_batch.behaviour.tolist() == [1.0, 1.0, 1.0]
    credit = assign_credit(episodes, RLOO, logp_old=old, correct=True)
    assert credit.behaviour.tolist() == pytest.approx([1.5, 2.0, 1.0])
    assert credit.metrics["sampling/logp_gap_max"] == pytest.approx(np.log(9.0))


def test_metrics_leave_out_failed_episodes():
    first, second = episode(1.0), episode(0.0, "horizon", lengths=(1, 1, 1))
    second.turns[2].state_key, second.turns[2].text = "1", "1"
    metrics = rollout_metrics([first, second, episode(9.0, "error")])
    assert metrics["rollout/return"] == metrics["rollout/success"] == 0.5
    assert metrics["rollout/turns"] == 2.5
    assert metrics["rollout/repeat"] == pytest.approx(1 / 5)
    assert (
        metrics["rollout/ended_by_error"]
        == metrics["rollout/ended_by_horizon"]
        == pytest.approx(1 / 3)
    )


def test_arguments(tmp_path):
    settings = {
        "groups": 4,
        "group_size": 4,
        "steps": 5,
        "lr": 1e-3,
        "budget": TokenBudget(8, 99, 128),
    }
    args = grpo_arguments(tmp_path, minibatches=2, save_every=2, **settings)
    assert (args.per_device_train_batch_size, args.steps_per_generation) == (8, 2)
    assert args.generation_batch_size == 16
    assert args.max_completion_length == 99
    check_arguments(args)


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_would_be_ignored_is_refused(tmp_path, name):
    """Of TRL's loss above all, whose options decide nothing here."""
    args = grpo_arguments(tmp_path, groups=2, group_size=2, steps=1, lr=1.0, budget=TokenBudget())
    setattr(args, name, "another")
    with pytest.raises(ConfigurationError, match=f"expected {name}=.*, got 'another': [a-z]"):
        check_arguments(args)
