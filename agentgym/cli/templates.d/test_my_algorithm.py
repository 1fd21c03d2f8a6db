"""Advantages worked by hand."""

import pytest
from my_algorithm import PRESET

from trainers.algorithms.advantage import advantage
from trainers.algorithms.batch import Batch


def test_advantages_of_two_episodes_of_a_task():
    # One episode earns 1 in four turns, x = 1 / 2; the other earns 0 in one turn, x = 0.
    batch = Batch.from_trajectories(
        turn_tokens=[[1, 1, 1, 1], [2]], rewards=[[0, 0, 0, 1], [0]], groups=["task", "task"]
    )
    values = advantage(batch, PRESET.terms)
    assert values == pytest.approx([0.5] * 4 + [-0.5] * 2)
