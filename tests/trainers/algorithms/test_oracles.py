"""Reference estimators written as plain loops over padded sequences with observation tokens.

They follow verl's conventions: rows of a fixed length, a mask of model tokens, `ddof=1`, whitening
over masked tokens. Equality shows that packing changes nothing, whatever stands between the turns.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np
import pytest

from trainers.algorithms.advantage import Term, Whiten, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.presets import get_preset
from trainers.methods.critic.gae import GAE


class Padded(NamedTuple):
    """A padded batch and its packed twin."""

    reward: np.ndarray
    value: np.ndarray
    mask: np.ndarray
    group: list[int]
    packed: Batch


def make(seed: int) -> Padded:
    """Random trajectories; observations of random length, with values, precede every turn."""
    rng = np.random.default_rng(seed)
    n, length = 12, 60
    reward, value, mask = np.zeros((n, length)), rng.normal(size=(n, length)), np.zeros((n, length))
    tokens: list[list[int]] = []
    rewards: list[list[float]] = []
    for i in range(n):
        tokens.append(rng.integers(1, 5, rng.integers(1, 6)).tolist())
        rewards.append(rng.normal(size=len(tokens[-1])).tolist())
        start = 0
        for count, r in zip(tokens[-1], rewards[-1], strict=True):
            start += int(rng.integers(0, 6))
            mask[i, start : start + count] = 1
            start += count
            reward[i, start - 1] = r
    values = [value[i][mask[i] == 1].tolist() for i in range(n)]
    group = [i // 4 for i in range(n)]
    packed = Batch.from_trajectories(tokens, rewards, group, values=values)
    return Padded(reward, value, mask, group, packed)


def outcome_estimator(data: Padded, kind: str) -> np.ndarray:
    """GRPO, Dr.GRPO or RLOO, one sequence at a time."""
    scores = data.reward.sum(1)
    members = defaultdict(list)
    for i, g in enumerate(data.group):
        members[g].append(scores[i])
    out = np.zeros_like(data.reward)
    for i, g in enumerate(data.group):
        peers = members[g]
        mean = sum(peers) / len(peers)
        a = scores[i] - mean
        if kind == "grpo":
            a /= (sum((x - mean) ** 2 for x in peers) / (len(peers) - 1)) ** 0.5 + 1e-6
        if kind == "rloo":
            a = scores[i] - (sum(peers) - scores[i]) / (len(peers) - 1)
        for t in range(out.shape[1]):
            out[i, t] = a * data.mask[i, t]
    return out


def whiten(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean and variance over masked tokens, as verl's masked_whiten."""
    total = mask.sum()
    mean = (x * mask).sum() / total
    variance = (((x - mean) ** 2) * mask).sum() / (total - 1)
    return (x - mean) / np.sqrt(variance + 1e-8) * mask


def masked_gae(data: Padded, gamma: float, lam: float) -> np.ndarray:
    """Backward over a row; observation tokens carry the state of the chain through."""
    out = np.zeros_like(data.reward)
    for i in range(len(out)):
        next_value, run = 0.0, 0.0
        for t in reversed(range(out.shape[1])):
            if data.mask[i, t]:
                delta = data.reward[i, t] + gamma * next_value - data.value[i, t]
                run = delta + gamma * lam * run
                next_value = data.value[i, t]
                out[i, t] = run
    return out


def return_to_go(data: Padded) -> np.ndarray:
    """Sum of the rewards from a token on."""
    return np.cumsum(data.reward[:, ::-1], 1)[:, ::-1] * data.mask


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["grpo", "dr_grpo", "rloo"])
def test_outcome_estimators(seed: int, kind: str) -> None:
    data = make(seed)
    expected = outcome_estimator(data, kind)[data.mask == 1]
    actual = advantage(data.packed, get_preset(kind).terms)
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_reinforce_plus_plus_baseline(seed: int) -> None:
    data, preset = make(seed), get_preset("reinforce++-baseline")
    expected = whiten(outcome_estimator(data, "dr_grpo"), data.mask)[data.mask == 1]
    actual = advantage(data.packed, preset.terms, preset.post)
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_reinforce_plus_plus_reward_crosses_observations(seed: int) -> None:
    data, preset = make(seed), get_preset("reinforce++")
    expected = whiten(return_to_go(data), data.mask)[data.mask == 1]
    actual = advantage(data.packed, preset.terms[:1], preset.post)
    np.testing.assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.99, 0.95), (0.9, 0.0)])
def test_masked_gae(gamma: float, lam: float) -> None:
    data = make(7)
    expected = masked_gae(data, gamma, lam)
    actual = advantage(data.packed, [Term(GAE(gamma, lam))])
    np.testing.assert_allclose(actual, expected[data.mask == 1], atol=1e-6)
    whitened = advantage(data.packed, [Term(GAE(gamma, lam))], Whiten(eps=1e-8))
    np.testing.assert_allclose(whitened, whiten(expected, data.mask)[data.mask == 1], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("grpo", [1.0, 1.0, 0.0, -1.0]),
        ("dr_grpo", [1.0, 1.0, 0.0, -1.0]),
        ("rloo", [1.5, 1.5, 0.0, -1.5]),
        ("turn-loo", [1.5, 1.5, 0.0, -1.5]),
        ("reinforce++-baseline", [0.783349, 0.783349, -0.261116, -1.305582]),
    ],
)
def test_stored_numbers(name: str, expected: list[float]) -> None:
    """Returns 2, 1, 0 with 2, 1, 1 tokens; worked out by hand."""
    batch = Batch.from_trajectories([[2], [1], [1]], [[2.0], [1.0], [0.0]], [0, 0, 0])
    preset = get_preset(name)
    np.testing.assert_allclose(advantage(batch, preset.terms, preset.post), expected, atol=2e-6)
