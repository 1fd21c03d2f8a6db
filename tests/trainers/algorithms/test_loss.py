"""Loss coefficients against finite differences of losses written down independently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.trainers.algorithms.helpers import pack
from tests.trainers.algorithms.loss_reference import kl_coef, loss_coefficients, pg_coef
from trainers.algorithms.advantage import advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.loss import Loss, ratio_segments
from trainers.algorithms.presets import get_preset


def derivative(loss: Callable[[np.ndarray], float], logp: np.ndarray) -> np.ndarray:
    """Minus the central difference of a loss in each log-probability."""
    out, h = np.zeros_like(logp), 1e-6
    for k in range(len(logp)):
        step = h * (np.arange(len(logp)) == k)
        out[k] = -(loss(logp + step) - loss(logp - step)) / (2 * h)
    return out


def ppo_loss(
    logp: np.ndarray, old: np.ndarray, a: np.ndarray, low: float, high: float, dual: float | None
) -> float:
    """Token by token: the pessimistic surrogate, with dual clip."""
    total = 0.0
    for new, old_logp, adv in zip(logp, old, a, strict=True):
        ratio = np.exp(new - old_logp)
        value = min(ratio * adv, min(max(ratio, 1 - low), 1 + high) * adv)
        if dual is not None and adv < 0:
            value = max(value, dual * adv)
        total -= value
    return total


@pytest.mark.parametrize("dual", [None, 1.5])
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.2), (0.2, 0.28)])
def test_ppo_coefficients_are_the_gradient(low: float, high: float, dual: float | None) -> None:
    rng = np.random.default_rng(0)
    logp, old, a = -rng.random(50), -rng.random(50), rng.normal(size=50)
    actual = pg_coef(logp, old, a, low=low, high=high, dual=dual)
    expected = derivative(lambda x: ppo_loss(x, old, a, low, high, dual), logp)
    np.testing.assert_allclose(actual, expected, atol=1e-8)


def test_gspo_coefficients_are_the_gradient_of_the_sequence_ratio() -> None:
    rng = np.random.default_rng(1)
    batch = Batch.from_trajectories([[3, 2], [4], [1]], [[0, 0], [0], [0]], [0, 0, 0])
    logp, seq = 0.2 * rng.normal(size=10), batch.token_traj
    a = np.array([1.0, -1.0, 0.5])

    def loss(x: np.ndarray) -> float:
        total = 0.0
        for i in range(3):
            s = np.exp(np.mean(x[seq == i]))
            total -= min(s * a[i], np.clip(s, 0.95, 1.04) * a[i]) / 3
        return total

    kind = Loss("sequence", low=0.05, high=0.04, aggregation="seq-mean-token-mean")
    actual = loss_coefficients(batch, logp, a[seq], kind)
    np.testing.assert_allclose(actual, derivative(loss, logp), atol=1e-8)


def test_cispo_keeps_a_gradient_on_clipped_tokens() -> None:
    logp, a = np.log([0.1, 1.0, 3.0]), np.array([1.0, -1.0, 1.0])
    assert pg_coef(logp, np.zeros(3), a, clip="cispo", low=1.0, high=1.0) == pytest.approx(
        [0.1, -1.0, 2.0]
    )
    assert pg_coef(logp, np.zeros(3), a).tolist() == pytest.approx([0.1, -1.0, 0.0])


def test_on_policy_every_clip_is_the_plain_policy_gradient() -> None:
    a = np.array([1.0, -2.0, 0.0])
    for clip in ("ppo", "cispo", "none"):
        np.testing.assert_allclose(pg_coef(np.zeros(3), np.zeros(3), a, clip=clip), a)


def test_a_huge_ratio_does_not_overflow() -> None:
    with np.errstate(over="raise"):
        pg_coef(np.array([0.0]), np.array([-1e4]), np.array([-1.0]))


def test_ratio_segments_follow_turns_and_trajectories() -> None:
    batch = pack([[0, 0], [0]], [0, 0], tokens=2)
    assert ratio_segments(batch, "token") is None
    assert ratio_segments(batch, "turn").tolist() == [0, 0, 1, 1, 2, 2]  # type: ignore[union-attr]
    assert ratio_segments(batch, "sequence").tolist() == [0, 0, 0, 0, 1, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_kl_coefficients_are_the_gradient(estimator: Any) -> None:
    rng = np.random.default_rng(2)
    logp, ref = -rng.random(9), -rng.random(9)

    def penalty(x: np.ndarray) -> float:
        log_ratio = ref - x
        k3 = np.exp(log_ratio) - log_ratio - 1
        return float((-log_ratio if estimator == "k1" else k3).sum())

    np.testing.assert_allclose(-kl_coef(logp, ref, estimator), derivative(penalty, logp), atol=1e-8)


def test_kl_enters_the_coefficients() -> None:
    batch = pack([[0.0], [0.0]], [0, 0], aux={"logp_ref": [[0.0], [np.log(2)]]})
    u = loss_coefficients(batch, np.zeros(2), np.zeros(2), Loss(kl_beta=0.1))
    np.testing.assert_allclose(u, [0, 0.05])


def test_masked_trajectories_and_the_dead_zone_get_nothing() -> None:
    batch = pack([[0.0], [0.0], [0.0]], [0, 0, 0])
    a = np.array([1.0, 0.005, 1.0])
    train = np.array([True, True, False])
    u = loss_coefficients(batch, np.zeros(3), a, Loss(dead_zone=0.01), train=train)
    assert u.tolist() == [0.5, 0.0, 0.0]


def test_a_prefix_that_branches_share_learns_from_the_sum_of_their_advantages() -> None:
    """ARPO's soft advantage: the prefix appears once in each branch, with that branch's advantage.

    Two of three episodes share their first turn; returns 1, 0, 0 are 2, -1, -1 over sqrt(3).
    """
    batch = Batch.from_trajectories([[2, 1], [2, 1], [3]], [[0, 1], [0, 0], [0]], [0, 0, 0])
    preset = get_preset("arpo")
    a = advantage(batch, preset.terms, preset.post)
    u = loss_coefficients(batch, batch.logp_old, a, preset.loss)
    np.testing.assert_allclose(u[0:2] + u[3:5], [1 / 3**0.5 / 9] * 2, atol=1e-6)
    np.testing.assert_allclose(u[[2, 5]], [2 / 3**0.5 / 9, -1 / 3**0.5 / 9], atol=1e-6)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clip": "trpo"}, "expected one of"),
        ({"ratio": "word"}, "expected one of"),
        ({"aggregation": "sum"}, "expected one of"),
        ({"low": 1.5}, "0 <= low <= 1"),
        ({"behave_cap": 0.0}, "behave_cap > 0"),
        ({"behave_floor": 3.0}, "behave_floor < behave_cap"),
        ({"divergence": 0.0}, "divergence > 0"),
        ({"dual": 0.5}, "dual > 1"),
    ],
)
def test_bad_losses_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Loss(**fields)
