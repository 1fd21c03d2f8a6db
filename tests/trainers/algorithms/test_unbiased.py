"""The default credit is an unbiased policy gradient; its tempting neighbours are not.

A policy decides after each turn whether to take another (probability p). The gradient of the return
is known in closed form, so the mean over many groups shows the bias (research: verl issue 7244).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agentgym.core.outcome import StopReason
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import HarnessEndings, ZeroVariance, apply_filters
from trainers.algorithms.presets import get_preset
from trainers.algorithms.signals import EpisodeReturn, RewardToGo, StepReward

TURNS, SIZE, GROUPS = 6, 8, 5000
PADDED = Term(RewardToGo(), center="turn_index_padded", leave_one_out=True)


def simulate(logit: float, reward: str) -> tuple[Batch, np.ndarray]:
    """A batch of one-token turns and d log pi / d logit of each token.

    With "turn" every turn pays 1 and p is the chance of going on; with "success" p is the chance
    that a turn solves the task, which pays 1 and ends the episode.
    """
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-logit))
    n = GROUPS * SIZE
    coin = rng.random((n, TURNS)) < p
    leaves = ~coin if reward == "turn" else coin
    alive = np.ones((n, TURNS), dtype=bool)
    alive[:, 1:] = ~np.maximum.accumulate(leaves, axis=1)[:, :-1]
    score = np.where(coin, 1 - p, -p)
    if reward == "turn":
        score[:, -1] = 0.0  # nothing is decided after the last turn
    traj = np.nonzero(alive)[0]
    pay = np.ones(len(traj)) if reward == "turn" else coin[alive].astype(float)
    m, zeros = len(traj), np.zeros(len(traj))
    group = np.arange(n) // SIZE
    ints = np.zeros(m, dtype=int)
    ends = np.full(n, "")
    batch = Batch(
        np.arange(m), traj, group, 0 * group, pay, ends, np.arange(m), ints, ints, zeros, zeros
    )
    return batch, score[alive]


def gradient(batch: Batch, weights: np.ndarray) -> tuple[float, float]:
    """Mean over groups of the group's gradient, and its standard error."""
    of_group = np.bincount(batch.group[batch.token_traj], weights, GROUPS) / SIZE
    return float(of_group.mean()), float(of_group.std() / GROUPS**0.5)


def test_turn_loo_is_unbiased_when_turns_pay() -> None:
    batch, score = simulate(0.3, "turn")
    p = 1 / (1 + np.exp(-0.3))
    truth = sum(k * p ** (k - 1) for k in range(1, TURNS)) * p * (1 - p)
    assert truth == pytest.approx(1.0858, abs=1e-4)
    mean, error = gradient(batch, score * advantage(batch, [PADDED]))
    assert abs(mean - truth) < 4 * error < 0.05
    centred = Term(RewardToGo(), center="turn_index_padded")
    mean, error = gradient(batch, score * advantage(batch, [centred]))
    assert abs(mean - truth * (SIZE - 1) / SIZE) < 4 * error


def test_the_mean_over_living_members_learns_nothing_about_another_turn() -> None:
    batch, score = simulate(0.3, "turn")
    a = advantage(batch, [Term(StepReward(), center="turn_index")])
    assert gradient(batch, score * a) == (0.0, 0.0)


def test_turn_loo_has_less_variance_than_trajectory_credit() -> None:
    batch, score = simulate(0.3, "turn")
    rloo = Term(EpisodeReturn(), center="group", leave_one_out=True)
    padded_error = gradient(batch, score * advantage(batch, [PADDED]))[1]
    assert padded_error < 0.9 * gradient(batch, score * advantage(batch, [rloo]))[1]


def test_dropping_groups_of_equal_outcome_biases_turn_credit_but_not_at_turn_level() -> None:
    batch, score = simulate(-1.0, "success")
    p = 1 / (1 + np.exp(1.0))
    truth = TURNS * (1 - p) ** (TURNS - 1) * p * (1 - p)
    a = score * advantage(batch, [PADDED])

    def estimate(level: str) -> tuple[float, float]:
        train = apply_filters(batch, [ZeroVariance(level=level)]).train  # type: ignore[arg-type]
        return gradient(batch, a * train[batch.token_traj])

    mean, error = estimate("turn")
    assert abs(mean - truth) < 4 * error
    mean, error = estimate("outcome")
    assert mean < truth - 10 * error


def test_masking_episodes_that_ran_out_of_turns_biases_credit_and_the_default_does_not() -> None:
    batch, score = simulate(-1.0, "success")
    p = 1 / (1 + np.exp(1.0))
    truth = TURNS * (1 - p) ** (TURNS - 1) * p * (1 - p)
    ends = np.where(batch.returns > 0, "success", "horizon")
    batch = replace(batch, stop_reason=ends)

    def estimate(filters: tuple) -> tuple[float, float]:
        masks = apply_filters(batch, filters)
        a = advantage(batch, [PADDED], train=masks.train, baseline=masks.baseline)
        return gradient(batch, score * a * masks.train[batch.token_traj])

    mean, error = estimate(get_preset("default").filters)
    assert abs(mean - truth) < 4 * error
    mean, error = estimate((HarnessEndings(),))
    assert mean == pytest.approx(0.155, abs=4 * error)
    assert mean < truth - 10 * error


BUDGET, LONG = 7, 3
"""Tokens of an episode, and of a turn that thinks; one that does not takes 1."""
SOLVES = (0.08, 0.35)
"""Chance that a turn solves the task, without thinking and with it."""


def budgeted_value(logit: float, room: int = BUDGET) -> float:
    """Chance that a policy which thinks with this logit solves the task within so many tokens.

    A turn is begun while a long one fits, so whether it is begun does not depend on what it says.
    """
    if room < LONG:
        return 0.0
    p = 1 / (1 + np.exp(-logit))
    return float(
        sum(
            chance * (solved + (1 - solved) * budgeted_value(logit, room - tokens))
            for chance, solved, tokens in ((1 - p, SOLVES[0], 1), (p, SOLVES[1], LONG))
        )
    )


def simulate_budget(logit: float) -> tuple[Batch, np.ndarray]:
    """Episodes whose turns think or do not, until one solves the task or the tokens run out."""
    rng = np.random.default_rng(1)
    p, n = 1 / (1 + np.exp(-logit)), GROUPS * SIZE
    room, live = np.full(n, BUDGET), np.arange(n)
    ends = np.full(n, "token_limit", dtype=object)
    traj, pay, score = [], [], []
    while len(live):
        thinks = rng.random(len(live)) < p
        solved = rng.random(len(live)) < np.where(thinks, SOLVES[1], SOLVES[0])
        traj.append(live)
        pay.append(solved.astype(float))
        score.append(np.where(thinks, 1 - p, -p))
        room[live] -= np.where(thinks, LONG, 1)
        ends[live[solved]] = "success"
        live = live[~solved & (room[live] >= LONG)]
    order = np.argsort(np.concatenate(traj), kind="stable")
    of, paid, step_scores = (np.concatenate(parts)[order] for parts in (traj, pay, score))
    m, group = len(of), np.arange(n) // SIZE
    ints, zeros, ends = np.zeros(m, dtype=int), np.zeros(m), ends.astype(str)
    states, tokens = np.arange(m), np.arange(m)
    batch = Batch(tokens, of, group, 0 * group, paid, ends, states, ints, ints, zeros, zeros)
    return batch, step_scores


def test_masking_episodes_that_ran_out_of_tokens_biases_credit_and_the_default_does_not() -> None:
    """Most of what thinking loses is in the episodes that would be left out."""
    logit = -1.0
    batch, score = simulate_budget(logit)
    truth = (budgeted_value(logit + 1e-5) - budgeted_value(logit - 1e-5)) / 2e-5

    def estimate(filters: tuple) -> tuple[float, float]:
        masks = apply_filters(batch, filters)
        a = advantage(batch, [PADDED], train=masks.train, baseline=masks.baseline)
        return gradient(batch, score * a * masks.train[batch.token_traj])

    mean, error = estimate(get_preset("default").filters)
    assert abs(mean - truth) < 4 * error < 0.2 * truth
    masked, error = estimate((HarnessEndings(masked=(StopReason.TOKEN_LIMIT,)),))
    assert masked == pytest.approx(0.73 * truth, abs=4 * error)
    assert masked < truth - 6 * error
