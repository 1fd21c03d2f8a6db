"""Samplers are pure functions of (seed, step) and keep their promises about frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainers.algorithms import (
    EntropyBrancher,
    InformativeSampler,
    InterleavedSampler,
    PolicyPool,
    TaskSampler,
    TaskStats,
    UniformSampler,
    ValueSampler,
    informative,
    staleness_capacity,
    task_value,
)


def seen(returns: list[list[float]]) -> TaskStats:
    tasks = np.repeat(np.arange(len(returns)), [len(r) for r in returns])
    return TaskStats.empty(len(returns)).update(tasks, np.concatenate(returns))


SAMPLERS: list[TaskSampler] = [
    UniformSampler(10, 4, seed=3),
    InterleavedSampler((0, 0, 0, 1, 1, 2), 4, seed=3),
    ValueSampler(6, 4, seed=3),
    InformativeSampler(6, 4, seed=3),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_depend_on_seed_and_step_alone(sampler: TaskSampler) -> None:
    first = [sampler(step).tolist() for step in range(1, 30)]
    assert [sampler(step).tolist() for step in range(29, 0, -1)] == first[::-1]
    assert len({tuple(ids) for ids in first}) > 5
    assert all(len(ids) == 4 for ids in first)


@given(st.integers(1, 12), st.integers(1, 7), st.integers(0, 99))
def test_uniform_visits_every_task_once_in_an_epoch(n: int, size: int, seed: int) -> None:
    stream = np.concatenate([UniformSampler(n, size, seed)(s) for s in range(1, n + 1)])
    for epoch in range(size):
        assert sorted(stream[epoch * n : (epoch + 1) * n]) == list(range(n))


def test_uniform_refuses_step_zero() -> None:
    with pytest.raises(ValueError, match="counted from 1"):
        UniformSampler(3, 1)(0)


def test_interleaving_equalises_families() -> None:
    family = (0,) * 12 + (1,) * 3 + (2,) * 1
    sampler = InterleavedSampler(family, 6, seed=1)
    ids = np.concatenate([sampler(step) for step in range(1, 7)])
    families = np.array(family)[ids]
    assert families.tolist() == [0, 1, 2] * 12
    assert sorted(ids[families == 0]) == list(range(12))
    assert np.bincount(ids[families == 1] - 12).tolist() == [4, 4, 4]


def test_value_is_zero_when_all_returns_are_equal() -> None:
    stats = seen([[0, 1.0], [1.0, 1.0], [0.1, 0.1, 0.1], [0, 0, 0, 1.0]])
    expected = [0.5 * 0.5, 0, 0, 0.75 * (0.75 * 0.25) ** 0.5]
    np.testing.assert_allclose(task_value(stats), expected, atol=1e-12)


def test_value_sampler_draws_in_proportion_to_value() -> None:
    stats = seen([[0, 1.0], [1.0, 1.0], [0, 0, 0, 1.0]])
    ids = ValueSampler(3, 4000, seed=5)(1, stats)
    share = task_value(stats) / task_value(stats).sum()
    counts, expected = np.bincount(ids, minlength=3), 4000 * share
    assert counts[1] == 0
    live = expected > 0
    chi_square = ((counts - expected)[live] ** 2 / expected[live]).sum()
    assert chi_square < 10.8  # one degree of freedom, p = 0.001


def test_value_sampler_gives_new_tasks_a_chance() -> None:
    stats = TaskStats.empty(3).update(np.array([0, 0]), np.array([0.0, 1.0]))
    assert set(ValueSampler(3, 200)(1, stats)) == {0, 1, 2}
    assert set(ValueSampler(3, 200)(1, TaskStats.empty(3))) == {0, 1, 2}
    assert set(ValueSampler(2, 200)(1, seen([[1.0], [0.0]]))) == {0, 1}


def test_informative_drops_pass_rates_of_zero_and_one() -> None:
    stats = seen([[1.0] * 8, [0.0] * 8, [0, 1.0] * 4, [1.0]])
    assert informative(stats).tolist() == [False, False, True, True]
    ids = InformativeSampler(4, 2)(1, stats)
    assert sorted(ids) == [2, 3]
    assert sorted(InformativeSampler(1, 3)(1, seen([[1.0] * 8]))) == [0, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5)), min_size=1, max_size=40))
def test_statistics_match_numpy_however_they_arrive(rows: list[tuple[int, float]]) -> None:
    tasks, returns = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    half = len(rows) // 2
    stats = TaskStats.empty(4).update(tasks[:half], returns[:half])
    stats = stats.update(tasks[half:], returns[half:])
    for t in np.unique(tasks):
        mine = returns[tasks == t]
        assert stats.count[t] == len(mine)
        assert stats.mean[t] == pytest.approx(mine.mean(), abs=1e-9)
        assert stats.std[t] == pytest.approx(mine.std(), abs=1e-6)
        assert stats.best[t] == mine.max()


def test_policy_pool_mixes_and_refreshes() -> None:
    pool = PolicyPool(0.25, 25, seed=1)
    picks = np.concatenate([pool.pick(step, turn=2, n=50) for step in range(1, 101)])
    assert abs(picks.mean() - 0.25) < 0.03
    assert (pool.pick(3, 1, 64) == pool.pick(3, 1, 64)).all()
    assert (pool.pick(3, 1, 64) != pool.pick(3, 2, 64)).any()
    assert [pool.stale_version(s) for s in (1, 25, 26, 51)] == [0, 0, 25, 50]


@given(st.integers(0, 20), st.integers(1, 4), st.integers(0, 99))
def test_brancher_stays_in_its_budget(used: int, beam: int, seed: int) -> None:
    brancher = EntropyBrancher(beam=beam)
    rng = np.random.default_rng(seed)
    copies = brancher.branch(rng.normal(size=8), used, rng)
    assert (copies >= 0).all()
    assert copies.max() <= beam - 1
    assert copies.sum() <= max(brancher.total - used, 0)


def test_brancher_follows_the_rise_of_entropy() -> None:
    brancher = EntropyBrancher(base=0.5, weight=0.2, total=10**6)
    rng = np.random.default_rng(0)
    rates = [brancher.branch(np.full(4000, rise), 0, rng).mean() for rise in (-5, 0, 1, 5)]
    np.testing.assert_allclose(rates, [0, 0.5, 0.7, 1], atol=0.03)


@given(st.integers(0, 4), st.integers(1, 8), st.integers(0, 99))
def test_async_queue_never_exceeds_its_staleness_bound(eta: int, batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    version = accepted = running = trained = 0
    for _ in range(60):
        running += staleness_capacity(
            version=version,
            eta=eta,
            batch_size=batch,
            accepted=accepted,
            running=running,
            concurrency=5,
        )
        assert running <= 5
        assert accepted + running <= (eta + version + 1) * batch
        done = int(rng.integers(0, running + 1))
        accepted, running = accepted + done, running - done
        if accepted - trained >= batch:
            trained, version = trained + batch, version + 1
