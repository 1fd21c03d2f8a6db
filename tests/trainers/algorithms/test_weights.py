"""Aggregation (length bias) and off-policy correction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trainers.algorithms.helpers import batches, pack
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.loss import aggregation_weights, behaviour_weights
from trainers.algorithms.signals import EpisodeReturn


@pytest.mark.parametrize(
    ("mode", "short", "long"),
    [
        ("token-mean", 1 / 12, 1 / 12),
        ("seq-mean-token-mean", 0.25, 0.05),
        ("seq-mean-token-sum", 0.5, 0.5),
        ("const", 0.05, 0.05),
        ("turn-mean", 0.25, 0.05),
        ("turn-mean-token-sum", 0.5, 0.5),
    ],
)
def test_length_bias_of_two_and_ten_tokens(mode: str, short: float, long: float) -> None:
    batch = Batch.from_trajectories([[2], [10]], [[0.0], [0.0]], [0, 0])
    w = aggregation_weights(batch, mode, const=10)  # type: ignore[arg-type]
    np.testing.assert_allclose(w, [short] * 2 + [long] * 10)


MEANS = ["token-mean", "seq-mean-token-mean", "turn-mean"]


@given(batches(min_turns=0), st.sampled_from(MEANS), st.integers(0, 99))
def test_means_sum_to_one_over_what_is_trained(batch: Batch, mode: str, seed: int) -> None:
    trained = np.random.default_rng(seed).random(batch.n_tokens) < 0.7
    w = aggregation_weights(batch, mode, keep=trained)  # type: ignore[arg-type]
    assert not w[~trained].any()
    assert w.sum() == pytest.approx(1.0 if trained.any() else 0.0)


def test_const_needs_its_divisor() -> None:
    with pytest.raises(ValueError, match="const > 0"):
        aggregation_weights(pack([[0.0]], [0]), "const")


def test_behaviour_weights_by_hand() -> None:
    batch = Batch.from_trajectories(
        [[2], [1]],
        [[0.0], [0.0]],
        [0, 0],
        logp_behave=[np.log([0.2, 0.5]).tolist(), [np.log(0.5)]],
        logp_old=[np.log([0.6, 0.4]).tolist(), [np.log(0.25)]],
    )
    np.testing.assert_allclose(behaviour_weights(batch, "none"), [1, 1, 1])
    np.testing.assert_allclose(behaviour_weights(batch, "ratio"), [1, 1, 1])
    np.testing.assert_allclose(behaviour_weights(batch, "clip"), [2, 0.8, 0.5])
    np.testing.assert_allclose(behaviour_weights(batch, "mask"), [0, 0.8, 0.5])
    # IcePop leaves out what is too small as well.
    icepop = behaviour_weights(batch, "mask", cap=5.0, floor=0.6)
    np.testing.assert_allclose(icepop, [3, 0.8, 0])
    by_row = behaviour_weights(batch, "clip", level="sequence", cap=10.0)
    np.testing.assert_allclose(by_row, [2.4, 2.4, 0.5])


def tabular_rollouts(
    rng: np.random.Generator, groups: int, stale: float
) -> tuple[Batch, np.ndarray]:
    """Chain of 3 positions, 4 actions, 6 turns, some of them acted by a stale policy.

    Action 0 advances and reaching the end pays 1. Returns the batch (states are positions, logp_old
    is the current policy's) and, for each turn, the gradient of its log-probability.
    """
    depth, horizon, n = 3, 6, groups * 16
    new_values, old = np.zeros((depth, 4)), np.zeros((depth, 4))
    new_values[:, 0], old[:, 0], old[:, 1] = 1.2, 0.4, 0.6
    probs = [np.exp(x) / np.exp(x).sum(1, keepdims=True) for x in (new_values, old)]
    state, columns = np.zeros(n, dtype=int), []
    for turn in range(horizon):
        live = np.flatnonzero(state < depth)
        actor = (rng.random(len(live)) < stale).astype(int)
        cumulative = np.stack(probs)[actor, state[live]].cumsum(1)
        act = np.minimum((rng.random((len(live), 1)) > cumulative).sum(1), 3)
        logs = [np.log(np.stack(probs)[w, state[live], act]) for w in (actor, 0)]
        columns.append([live, np.full(len(live), turn), state[live], act, *logs])
        state[live] += act == 0
    traj, t, position, act, behave, current = (
        np.concatenate(c) for c in zip(*columns, strict=True)
    )
    order = np.lexsort((t, traj))
    traj, position, act = (x[order].astype(int) for x in (traj, position, act))
    reward = ((position == depth - 1) & (act == 0)).astype(float)
    score = -probs[0][position]
    score[np.arange(len(act)), act] += 1
    gradient = np.zeros((len(act), depth, 4))
    gradient[np.arange(len(act)), position] = score
    group, zero = np.arange(n) // 16, np.zeros(len(act), dtype=int)
    batch = Batch(
        np.arange(len(act)),
        traj,
        group,
        0 * group,
        reward,
        np.full(n, ""),
        position,
        zero,
        behave[order],
        current[order],
    )
    return batch, gradient.reshape(len(act), -1)


def test_sequence_importance_sampling_restores_the_on_policy_gradient() -> None:
    """Stale turns inflate the gradient; token weights do less about it than sequence weights."""
    rng = np.random.default_rng(0)
    rloo = Term(EpisodeReturn(), center="group", leave_one_out=True)

    def gradient(stale: float, mode: str, level: str, cap: float) -> np.ndarray:
        batch, score = tabular_rollouts(rng, 2500, stale)
        weight = behaviour_weights(batch, mode, level=level, cap=cap)  # type: ignore[arg-type]
        result: np.ndarray = (weight * advantage(batch, [rloo])) @ score / batch.n_trajectories
        return result

    truth = gradient(0.0, "none", "token", 1.0)
    norm = float(np.linalg.norm(truth))

    def compare(*arguments: float | str) -> tuple[float, float]:
        g = gradient(*arguments)  # type: ignore[arg-type]
        return float(np.linalg.norm(g)) / norm, float(g @ truth) / norm / float(np.linalg.norm(g))

    unweighted, _ = compare(0.25, "none", "token", 1.0)
    exact, cosine = compare(0.25, "clip", "sequence", 1e9)
    assert unweighted > 1.1
    assert exact == pytest.approx(1.0, abs=0.06)
    assert cosine > 0.995
