"""Which trajectories train and which serve as baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from agentgym.core.outcome import StopReason
from tests.trainers.algorithms.helpers import batches, pack
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import (
    FlaggedTurns,
    HarnessEndings,
    TopVariance,
    ZeroVariance,
    apply_filters,
)
from trainers.algorithms.signals import RewardToGo


def test_without_filters_every_trajectory_with_a_turn_trains() -> None:
    masks = apply_filters(pack([[1.0], []], [0, 0]), [])
    assert masks.train.tolist() == [True, False]
    assert masks.baseline.tolist() == [True, True]


def test_zero_variance_drops_groups_of_equal_outcome() -> None:
    batch = pack([[1.0], [0.5, 0.5], [1.0], [0.0], [3.0]], [0, 0, 1, 1, 2])
    masks = apply_filters(batch, [ZeroVariance()])
    assert masks.train.tolist() == [False, False, True, True, False]
    assert masks.baseline.all()


def test_zero_variance_at_turn_level_keeps_groups_that_differ_in_time() -> None:
    batch = pack([[1.0], [0.0, 1.0], [0.0], [0.0, 0.0], [1.0], [1.0]], [0, 0, 1, 1, 2, 2])
    masks = apply_filters(batch, [ZeroVariance(level="turn")])
    assert masks.train.tolist() == [True, True, False, False, False, False]


@given(batches(min_turns=0))
def test_zero_variance_at_turn_level_is_free(batch: Batch) -> None:
    term = Term(RewardToGo(), center="turn_index_padded", leave_one_out=True)
    dropped = ~apply_filters(batch, [ZeroVariance(level="turn")]).train[batch.token_traj]
    assert np.abs(advantage(batch, [term])[dropped]).max(initial=0.0) < 1e-6


def test_top_variance_keeps_the_floor_of_the_share() -> None:
    rewards = [[float(x)] for g in range(8) for x in (0, g)]
    batch = pack(rewards, np.repeat(np.arange(8), 2).tolist())
    train = apply_filters(batch, [TopVariance(0.25)]).train
    assert np.flatnonzero(train).tolist() == [12, 13, 14, 15]
    assert apply_filters(batch, [TopVariance(0.3)]).train.sum() == 4, "2 of 8 groups: floor(2.4)"
    assert apply_filters(batch, [TopVariance(0.49)]).train.sum() == 6, "3 of 8 groups: floor(3.92)"
    assert apply_filters(batch, [TopVariance(0.01)]).train.sum() == 2
    assert apply_filters(batch, [TopVariance(1.0)]).train.all()


def test_harness_endings_leave_the_loss_and_stay_in_the_baseline() -> None:
    n = len(StopReason)
    batch = pack([[1.0]] * n, [0] * n, stop_reasons=list(StopReason))
    masks = apply_filters(batch, [HarnessEndings()])
    reasons = np.array(list(StopReason), dtype=object)
    masked = [StopReason.HORIZON, StopReason.TOKEN_LIMIT, StopReason.ERROR]
    assert reasons[~masks.train].tolist() == masked
    assert reasons[~masks.baseline].tolist() == [StopReason.ERROR]


def test_void_turns_drop_their_trajectory() -> None:
    batch = pack([[0, 1.0], [1.0]], [0, 0], aux={"void_turn": [[0, 1], [0]]})
    masks = apply_filters(batch, [FlaggedTurns()])
    assert (masks.train.tolist(), masks.baseline.tolist()) == ([False, True], [True, True])
    masks = apply_filters(batch, [FlaggedTurns(in_baseline=False)])
    assert masks.baseline.tolist() == [False, True]
    with pytest.raises(ValueError, match=r"expected aux\['judge'\]"):
        apply_filters(batch, [FlaggedTurns("judge")])


def test_filters_compose_from_left_to_right() -> None:
    """The failed environment's reward must not make its group look informative."""
    ends = [StopReason.SUCCESS, StopReason.SUCCESS, StopReason.ERROR]
    batch = pack([[0.0], [0.0], [9.0]], [0, 0, 0], stop_reasons=ends)
    masks = apply_filters(batch, [HarnessEndings(), ZeroVariance()])
    assert not masks.train.any()


@given(batches())
def test_filters_only_narrow(batch: Batch) -> None:
    parts: list[Any] = [HarnessEndings(), TopVariance(0.5), ZeroVariance("turn")]
    kept_before = apply_filters(batch, [])
    for i in range(1, len(parts) + 1):
        kept_after = apply_filters(batch, parts[:i])
        assert not (kept_after.train & ~kept_before.train).any()
        assert not (kept_after.baseline & ~kept_before.baseline).any()
        kept_before = kept_after


@pytest.mark.parametrize("fraction", [0.0, 1.5])
def test_top_variance_refuses_a_bad_share(fraction: float) -> None:
    with pytest.raises(ValueError, match=r"fraction in \(0, 1\]"):
        TopVariance(fraction)
