"""Advantage-weighted imitation against its closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainers.algorithms.imitation_weights import CAP, advantage_weights, copies


def test_weights_are_those_of_the_formula() -> None:
    """Two episodes of task 0, one each of 1 and 2, whose baseline is the mean of all, .5."""
    weights = advantage_weights(np.array([1.0, 0.0, 1.0, 0.0]), np.array([0, 0, 1, 2]), 0.5)
    assert weights == pytest.approx(np.exp([1.0, -1.0, 1.0, -1.0]))
    huge = advantage_weights(np.array([1e6, 0.0]), np.array([0, 0]), 1e-3)
    assert huge[0] == pytest.approx(CAP) and 0 <= huge[1] < 1e-9
    assert advantage_weights(np.full(3, 2.0), np.arange(3), 0.1) == pytest.approx([1.0, 1.0, 1.0])


@given(
    weights=st.lists(st.floats(1e-3, CAP), min_size=1, max_size=40),
    seed=st.integers(0, 99),
)
def test_each_is_drawn_as_often_as_expected_to_within_one(weights: list[float], seed: int) -> None:
    weight_array = np.array(weights)
    drawn = copies(weight_array, np.random.default_rng(seed))
    expected = weight_array / weight_array.sum() * len(weights)
    assert drawn.sum() == len(weights)
    assert (np.abs(drawn - expected) < 1 + 1e-6).all()


def test_draws_have_the_expected_mean() -> None:
    weights = np.array([0.2, 1.0, 2.8])
    drawn = [copies(weights, np.random.default_rng(seed)) for seed in range(4000)]
    assert np.mean(drawn, axis=0) == pytest.approx(weights / weights.sum() * 3, abs=0.03)


def test_equal_weights_draw_each_once() -> None:
    assert copies(np.ones(7), np.random.default_rng(1)).tolist() == [1] * 7
