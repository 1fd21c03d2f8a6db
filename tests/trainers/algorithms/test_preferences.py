"""Preferences in numbers: Bradley-Terry by hand, and DPO as an advantage."""

from __future__ import annotations

import numpy as np
import pytest

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.preferences import Preference, bradley_terry, extremes, ranked
from trainers.methods.turn_critic.credit import TurnPreference


def test_the_loss_of_a_pair_and_its_slope_by_hand() -> None:
    """Beta .5, scores 3 and 1: margin 1, loss log(1 + 1/e), slope -.5 / (1 + e)."""
    preference = bradley_terry(np.array([3.0, 1.0]), np.array([[0, 1]]), 0.5)
    assert preference.loss == pytest.approx(np.log1p(np.exp(-1.0)))
    assert preference.slope == pytest.approx([-0.5 / (1 + np.e), 0.5 / (1 + np.e)])
    assert preference.right == 1.0


def test_the_slope_is_the_derivative_of_the_mean_over_pairs() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=6) * 3
    pairs = ranked([1.0, 0.0, 0.5, 2.0, 2.0, 0.0], [0, 0, 0, 1, 1, 1])
    assert pairs.tolist() == [[0, 1], [0, 2], [2, 1], [3, 5], [4, 5]]
    preference = bradley_terry(scores, pairs, 0.7)
    for index in range(6):
        step = np.zeros(6)
        step[index] = 1e-6
        change = (
            bradley_terry(scores + step, pairs, 0.7).loss
            - bradley_terry(scores - step, pairs, 0.7).loss
        )
        assert preference.slope[index] == pytest.approx(change / 2e-6, abs=1e-9)


def test_without_pairs_there_is_nothing_to_lose() -> None:
    preference = bradley_terry(np.ones(3), ranked([1.0, 1.0, 1.0], [0, 0, 0]), 0.1)
    assert (preference.loss, preference.right) == (0.0, 0.0) and not preference.slope.any()


def test_scores_of_any_size_stay_finite() -> None:
    preference = bradley_terry(np.array([-1e6, 1e6]), np.array([[0, 1]]), 1.0)
    assert preference.loss == pytest.approx(2e6) and preference.slope.tolist() == [-1.0, 1.0]


def test_the_extremes_of_groups() -> None:
    usable = np.array([True, True, True, True, False, True])
    pairs = extremes(np.array([0.0, 2.0, 1.0, 3.0, 9.0, 3.0]), np.array([0, 0, 0, 1, 1, 1]), usable)
    assert pairs.tolist() == [[1, 0]], "in group 1 those that count have equal returns"


def pair_batch() -> Batch:
    """A pair of 2 and 3 tokens whose second is paid more, in two turns, and a pair of equals."""
    return Batch.from_trajectories(
        [[2], [1, 2], [1], [1]],
        [[0.0], [-0.5, 1.5], [0.5], [0.5]],
        [0, 0, 1, 1],
        logp_behave=[[-1.0, -2.0], [-1.0, -1.0, -1.0], [-3.0], [-3.0]],
        aux={"logp_ref": [[-1.5, -2.5], [-2.0, -1.0, -1.5], [-3.0], [-3.0]]},
    )


def test_dpo_as_an_advantage_by_hand() -> None:
    """Log-ratios 1 and 1.5: margin .1 x .5. Four texts, one pair: 4 x .1 x sigmoid(-.05)."""
    advantages = advantage(pair_batch(), [Term(Preference(nll=0.0))])
    size = 4 * 0.1 / (1 + np.exp(0.05))
    np.testing.assert_allclose(advantages, [-size] * 2 + [size] * 3 + [0.0] * 2)
    liked = advantage(pair_batch(), [Term(Preference(nll=0.03))])
    np.testing.assert_allclose(liked - advantages, [0.0] * 2 + [4 * 0.03 / 3] * 3 + [0.0] * 2)


@pytest.mark.parametrize("sizes", [{"candidates": 1}, {"pairs": 0}])
def test_nothing_to_compare_is_refused(sizes: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="expected candidates of at least 2 and pairs"):
        TurnPreference(**sizes)
