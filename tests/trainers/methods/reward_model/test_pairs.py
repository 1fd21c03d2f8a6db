"""Preferences between trajectories: the loss by hand, its slopes, and how pairs are ranked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.core.outcome import StopReason
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.methods.reward_model.credit import Implicit
from trainers.methods.reward_model.pairs import (
    EpisodePairs,
    preference_loss,
    preferred_pairs,
    ranked_right,
)

WON, LOST = StopReason.SUCCESS, StopReason.HORIZON


def pack(rewards: list[list[float]], groups: list[int], **columns: Any) -> Batch:
    tokens = [[1] * len(turns) for turns in rewards]
    return Batch.from_trajectories(tokens, rewards, groups, **columns)


def as_set(pairs: EpisodePairs) -> set[tuple[int, int]]:
    return set(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True))


def test_pairs_are_of_one_group_and_of_unlike_outcome() -> None:
    batch = pack(
        [[0.2], [0.9], [0.2], [1.0], [0.0], [0.0]],
        [0, 0, 0, 1, 1, 2],
        stop_reasons=[WON, LOST, LOST, WON, LOST, LOST],
    )
    assert as_set(preferred_pairs(batch, "success")) == {(0, 1), (0, 2), (3, 4)}
    assert as_set(preferred_pairs(batch, "return")) == {(1, 0), (1, 2), (3, 4)}
    usable = np.array([True, True, False, True, False, True])
    assert as_set(preferred_pairs(batch, "success", usable)) == {(0, 1)}


def test_the_loss_and_its_slopes_by_hand() -> None:
    """Margins of log 3 and 0: the preferred one is so with probability 3/4 and 1/2."""
    paid = np.array([math.log(3.0), 0.0, math.log(3.0)])
    pairs = EpisodePairs(np.array([0, 0]), np.array([1, 2]))
    loss, slopes = preference_loss(paid, pairs)
    assert math.isclose(loss, -(math.log(3 / 4) + math.log(1 / 2)) / 2)
    np.testing.assert_allclose(slopes, [-(1 / 4 + 1 / 2) / 2, 1 / 8, 1 / 4])
    assert ranked_right(paid, pairs) == 0.75


def test_nothing_is_learned_without_a_pair() -> None:
    none = EpisodePairs(np.zeros(0, int), np.zeros(0, int))
    loss, slopes = preference_loss(np.array([1.0, 2.0]), none)
    assert loss == 0.0 and not slopes.any() and math.isnan(ranked_right(np.ones(2), none))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-30, 30), min_size=2, max_size=6), st.data())
def test_slopes_are_those_of_the_loss(values: list[float], data: st.DataObject) -> None:
    paid = np.array(values)
    ids = st.integers(0, len(paid) - 1)
    drawn = data.draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=8))
    pairs = EpisodePairs(*np.array(drawn).T)
    _, slopes = preference_loss(paid, pairs)
    for i in range(len(paid)):
        step = np.zeros(len(paid))
        step[i] = 1e-5
        rise = preference_loss(paid + step, pairs)[0] - preference_loss(paid - step, pairs)[0]
        assert math.isclose(slopes[i], rise / 2e-5, abs_tol=1e-7)


def test_a_table_that_learns_ranks_the_better_trajectory_above() -> None:
    """A policy of two actions that began as the old one; the action of the winners is paid."""
    actions = [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]]
    batch = pack([[0.0] * 3] * 4, [0, 0, 1, 1], stop_reasons=[WON, LOST, WON, LOST])
    pairs, beta, logit = preferred_pairs(batch, "success"), 0.5, 0.0

    def paid() -> Any:
        logps = [math.log(1 / (1 + math.exp(-logit))), math.log(1 / (1 + math.exp(logit)))]
        return np.array(
            [sum(beta * (logps[a] - math.log(0.5)) for a in sequence) for sequence in actions]
        )

    assert ranked_right(paid(), pairs) == 0.5
    for _ in range(50):
        _, slopes = preference_loss(paid(), pairs)
        first = 1 / (1 + math.exp(-logit))
        # d log pi(a) / d logit is 1 - pi(0) for action 0, and -pi(0) for action 1.
        gain = [
            beta * sum((1 - first) if a == 0 else -first for a in sequence) for sequence in actions
        ]
        logit -= 5.0 * float(slopes @ gain)
    assert logit > 1.0 and ranked_right(paid(), pairs) == 1.0


def test_what_a_reward_model_pays_by_hand() -> None:
    """Turns of 2, 1 and 1 tokens; log-ratios .2 + .4, -.2 and .6; beta .5."""
    batch = Batch.from_trajectories(
        [[2, 1], [1]], [[0, 0], [0]], [0, 0],
        logp_old=[[-1.0, -1.0, -1.0], [-1.0]],
        aux={"logp_prm": [[-0.8, -0.6, -1.2], [-0.4]]},
    )  # fmt: skip
    np.testing.assert_allclose(Implicit(0.5)(batch).values, [0.3, -0.1, 0.3])
    np.testing.assert_allclose(Implicit(0.5, level="trajectory")(batch).values, [0.2, 0.3])
    per_trajectory = Term(Implicit(0.5, level="trajectory"), center="group")
    np.testing.assert_allclose(advantage(batch, [per_trajectory]), [-0.05, -0.05, -0.05, 0.05])
    # Over the three steps of the group: mean 1/6, deviation (ddof 1) .4 / sqrt(3).
    steps = Term(Implicit(0.5), center="group", scale="group", eps=0.0)
    z = [(r - 1 / 6) / (0.4 / math.sqrt(3)) for r in (0.3, 0.3, -0.1, 0.3)]
    np.testing.assert_allclose(advantage(batch, [steps]), z)
