"""Advantages of a critic: numbers by hand, and the laws of the three estimates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainers.algorithms.helpers import batches, pack
from trainers.algorithms.batch import Batch
from trainers.algorithms.signals import RewardToGo
from trainers.methods.critic.gae import (
    GAE,
    BiLevelGAE,
    TurnGAE,
    ValueSignal,
    explained_variance,
    value_targets,
)

ESTIMATES = [GAE, TurnGAE, BiLevelGAE]
every_estimate = pytest.mark.parametrize("estimator", ESTIMATES, ids=lambda e: e.__name__)


def without_critic(batch: Batch) -> Batch:
    """The same episodes, from which nothing is expected."""
    return replace(batch, values=np.zeros(batch.n_tokens))


def on_tokens(batch: Batch, signal: Any) -> Any:
    """Its advantages, (K,)."""
    return batch.to_tokens(*signal(batch))


def by_loops(batch: Batch, signal: Any) -> Any:
    """The advantages of ``GAE`` and ``BiLevelGAE`` as their papers write them, one by one."""
    values, rewards = batch.values, batch.reward
    assert values is not None
    out = np.zeros(batch.n_tokens)
    for number in range(batch.n_trajectories):
        turns = np.flatnonzero(batch.traj == number)
        after_turn = following = 0.0  # of what comes next: its advantage, its value
        later_turn = later_value = 0.0
        for turn in turns[::-1]:
            tokens = np.flatnonzero(batch.turn == turn)
            last = turn == turns[-1]
            paid = rewards[turn]
            if isinstance(signal, BiLevelGAE):
                end = values[tokens[-1]]
                g = 0.0 if last else signal.gamma_turn
                later_turn = paid + g * later_value - end + g * signal.lam_turn * later_turn
                later_value = end
                paid, after_turn, following = later_turn + end, 0.0, 0.0
            for token in tokens[::-1]:
                ends = token == tokens[-1]
                turn_factors = isinstance(signal, GAE) and ends
                g = signal.gamma_turn if turn_factors else signal.gamma
                lam = signal.lam_turn if turn_factors else signal.lam
                delta = (paid if ends else 0.0) + g * following - values[token]
                after_turn = delta + g * lam * after_turn
                following = values[token]
                out[token] = after_turn
    return out


@given(batches(), st.sampled_from([GAE(0.9, 0.8, 0.7, 0.6), BiLevelGAE(0.9, 0.8, 0.7, 0.6)]))
def test_token_and_bi_level_estimates_are_the_recursions_of_their_papers(batch, signal):
    np.testing.assert_allclose(on_tokens(batch, signal), by_loops(batch, signal), atol=1e-8)


def test_turns_by_hand():
    batch = Batch.from_trajectories(
        [[2, 1, 2]], [[1.0, 0.0, 2.0]], [0], values=[[0.5, 9.0, 0.2, -0.4, 9.0]]
    )
    # Values before the turns: .5, .2, -.4. Deltas 1 + .9*.2 - .5, 0 - .9*.4 - .2, 2 + .4.
    third, second, first = 2.4, -0.56 + 0.45 * 2.4, 0.68 + 0.45 * (-0.56 + 0.45 * 2.4)
    estimate = TurnGAE(gamma_turn=0.9, lam_turn=0.5)(batch)
    assert estimate.level == "turn"
    np.testing.assert_allclose(estimate.values, [first, second, third])
    assert TurnGAE().places(batch).tolist() == [True, False, True, True, False]


def test_bi_level_sees_turns_that_pay_nothing_the_last_among_them():
    """Where RAGEN's code takes a reward for the end of a turn and fails."""
    batch = without_critic(pack([[1.0, 0.0, 0.0]], [0], tokens=2))
    advantages = on_tokens(batch, BiLevelGAE(gamma_turn=0.5))
    np.testing.assert_allclose(advantages, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    batch = without_critic(pack([[0.0, 0.0, 1.0]], [0], tokens=2))
    advantages = on_tokens(batch, BiLevelGAE(gamma_turn=0.5))
    np.testing.assert_allclose(advantages, [0.25, 0.25, 0.5, 0.5, 1.0, 1.0])


@every_estimate
@given(batch=batches())
def test_with_nothing_expected_it_is_the_return_to_go(estimator, batch):
    batch = without_critic(batch)
    to_go = on_tokens(batch, RewardToGo(0.7))
    np.testing.assert_allclose(on_tokens(batch, estimator(gamma_turn=0.7)), to_go, atol=1e-8)


@every_estimate
@given(batch=batches(), lam=st.sampled_from([0.0, 0.3, 1.0]))
def test_monte_carlo_targets_are_the_returns_whatever_is_expected(estimator, batch, lam):
    """Of episodes that a limit cut as well: nothing is expected after their end."""
    signal = estimator(gamma_turn=0.9, lam_turn=lam)
    assert isinstance(signal, ValueSignal)
    learnt = signal.places(batch)
    targets = value_targets(batch, signal.monte_carlo())
    to_go = on_tokens(batch, RewardToGo(0.9))
    np.testing.assert_allclose(targets[learnt], to_go[learnt], atol=1e-7)
    other_batch = replace(batch, values=np.ones(batch.n_tokens))
    apart = value_targets(batch, signal)[learnt] - value_targets(other_batch, signal)[learnt]
    assert np.allclose(apart, 0, atol=1e-7) or lam < 1


@every_estimate
def test_a_critic_expects_the_price_of_the_divergence(estimator):
    rewards, ratios = [[1.0, 0.0]], [[0.1, 0.2, 0.3, 0.4]]
    batch = pack(rewards, [0], tokens=2, logp_old=ratios, aux={"logp_ref": [[0.0] * 4]})
    batch = without_critic(batch)
    price = 0.5 * np.array([1.0, 0.9, 0.7, 0.4])  # of this token and all that follow
    if estimator is not GAE:  # Every token of a turn pays for the whole turn.
        price = 0.5 * np.array([1.0, 1.0, 0.7, 0.7])
    worth = np.array([1.0, 1.0, 0.0, 0.0]) - price
    np.testing.assert_allclose(on_tokens(batch, estimator(kl=0.5)), worth)


def test_explained_variance():
    batch = pack([[0.0, 1.0], [0.0, 0.0]], [0, 0])
    all_tokens = np.ones(4, dtype=bool)
    for values, expected in (
        ([1.0, 1.0, 0.0, 0.0], 1.0),
        ([5.0, 5.0, 4.0, 4.0], 1.0),  # a constant error is no variance
        ([0.5] * 4, 0.0),
        ([0.75, 0.75, 0.25, 0.25], 0.75),
        ([0.0, 0.0, 1.0, 1.0], -3.0),
    ):
        with_values = replace(batch, values=np.array(values))
        assert explained_variance(with_values, TurnGAE(), all_tokens) == pytest.approx(expected)
    assert explained_variance(with_values, TurnGAE(), ~all_tokens) == 0.0
    assert explained_variance(with_values, TurnGAE(), np.array([True, True, False, False])) == 0.0
