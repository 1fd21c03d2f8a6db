"""Reward corrections on the packed batch."""

from __future__ import annotations

from tests.trainers.algorithms.helpers import pack
from trainers.algorithms import (
    Batch,
    EndPenalty,
    EndReason,
    FlagPenalty,
    Overlong,
    shape_rewards,
)


def test_end_penalty_sits_on_the_last_turn_of_its_endings() -> None:
    batch = pack([[0, 1.0], [0, 0.5]], [0, 0], ends=[EndReason.DONE, EndReason.HORIZON])
    assert shape_rewards(batch, [EndPenalty()]).reward.tolist() == [0, 1.0, 0, 0.3]


def test_overlong_is_linear_up_to_the_limit() -> None:
    batch = Batch.from_trajectories([[40, 40], [90], [120]], [[0, 0], [0], [0]], [0, 0, 0])
    assert Overlong(limit=100, cache=20)(batch).tolist() == [0, 0, -0.5, -1]


def test_flags_are_punished_turn_by_turn_and_shapers_add_up() -> None:
    batch = pack([[1.0, 0.0]], [0], aux={"invalid_action": [[1, 0]]}, ends=[EndReason.LENGTH])
    shaped = shape_rewards(batch, [FlagPenalty(), EndPenalty(-0.5)])
    assert shaped.reward.tolist() == [0.9, -0.5]
    assert shape_rewards(batch, []) is batch
