"""Samplers are pure functions of (seed, step) and keep their promises about frequencies."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError
from trainers.algorithms.sampling import (
    SAMPLERS,
    InformativeSampler,
    InterleavedSampler,
    TaskSampler,
    TaskStats,
    UniformSampler,
    ValueSampler,
    informative,
    task_value,
)


def collect_stats(returns: list[list[float]]) -> TaskStats:
    tasks = np.repeat(np.arange(len(returns)), [len(r) for r in returns])
    flat = np.concatenate(returns)
    return TaskStats.empty(len(returns)).update(tasks, flat, flat > 0)


def drawn(sampler: TaskSampler, step: int, n: int, stats: TaskStats | None = None) -> list[int]:
    return list(islice(sampler(step, stats), n))


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_depend_on_seed_and_step_alone(name: str) -> None:
    make = partial(SAMPLERS[name], 6)
    first = [drawn(make(3), step, 12) for step in range(1, 30)]
    assert [drawn(make(3), step, 12) for step in range(29, 0, -1)] == first[::-1]
    assert [drawn(make(4), step, 12) for step in range(1, 30)] != first
    assert len({tuple(ids) for ids in first}) > 5
    assert {task for ids in first for task in ids} == set(range(6))


@pytest.mark.parametrize("name", SAMPLERS)
def test_steps_count_from_one(name: str) -> None:
    with pytest.raises(ConfigurationError, match="counted from 1"):
        next(SAMPLERS[name](6, 0)(0))


def chi_square(ids: list[int], share: np.ndarray) -> float:
    expected = len(ids) * share
    counts = np.bincount(ids, minlength=len(share))
    live = expected > 0
    assert not counts[~live].any()
    return float(((counts - expected)[live] ** 2 / expected[live]).sum())


def test_uniform_draws_every_task_as_often_as_any_other() -> None:
    """With replacement: of 5 draws from 10 tasks 30 % are distinct, as chance has it."""
    sampler = UniformSampler(10, seed=5)
    assert chi_square(drawn(sampler, 1, 8000), np.full(10, 0.1)) < 27.9  # 9 degrees, p = 0.001
    distinct = np.mean([len(set(drawn(sampler, step, 5))) == 5 for step in range(1, 2001)])
    assert distinct == pytest.approx(0.3024, abs=0.03)


def test_interleaving_plays_all_before_any_comes_again() -> None:
    ids = drawn(InterleavedSampler(12, seed=1), 1, 36)
    assert [sorted(ids[k : k + 12]) for k in (0, 12, 24)] == [[*range(12)]] * 3
    assert ids[:12] != ids[12:24] != sorted(ids[12:24])


def test_value_is_zero_when_all_returns_are_equal() -> None:
    stats = collect_stats([[0, 1.0], [1.0, 1.0], [0.1, 0.1, 0.1], [0, 0, 0, 1.0]])
    expected = [0.5 * 0.5, 0, 0, 0.75 * (0.75 * 0.25) ** 0.5]
    np.testing.assert_allclose(task_value(stats), expected, atol=1e-12)


def test_value_sampler_draws_in_proportion_to_value() -> None:
    stats = collect_stats([[0, 1.0], [1.0, 1.0], [0, 0, 0, 1.0]])
    ids = drawn(ValueSampler(3, seed=5), 1, 4000, stats)
    assert chi_square(ids, task_value(stats) / task_value(stats).sum()) < 10.8  # 1, p = 0.001


def test_value_sampler_gives_new_tasks_the_mean_value() -> None:
    """Values 1/4 and 0 have mean 1/8: the new task gets 1/8 of 3/8, as the others 2/3 and 0."""
    stats = collect_stats([[0, 1.0], [1.0, 1.0], []])
    ids = drawn(ValueSampler(3), 1, 4000, stats)
    assert chi_square(ids, np.array([2 / 3, 0.0, 1 / 3])) < 10.8
    even = np.full(3, 1 / 3)
    assert chi_square(drawn(ValueSampler(3), 1, 4000, TaskStats.empty(3)), even) < 13.8
    assert chi_square(drawn(ValueSampler(3), 1, 4000, collect_stats([[1.0]] * 3)), even) < 13.8


def test_informative_drops_pass_rates_of_zero_and_one() -> None:
    stats = collect_stats([[1.0] * 8, [0.0] * 8, [0, 1.0] * 4, [1.0]])
    assert informative(stats).tolist() == [False, False, True, True]
    ids = drawn(InformativeSampler(4), 1, 6, stats)
    assert [sorted(ids[k : k + 2]) for k in (0, 2, 4)] == [[2, 3]] * 3
    assert sorted(drawn(InformativeSampler(4), 1, 4)) == [0, 1, 2, 3]
    assert drawn(InformativeSampler(1), 1, 3, collect_stats([[1.0] * 8])) == [0, 0, 0]


def test_penalties_do_not_make_a_task_informative() -> None:
    tasks, returns = np.zeros(8, dtype=np.int64), np.arange(8.0)
    for solved, expected in ((0, False), (3, True), (8, False)):
        stats = TaskStats.empty(1).update(tasks, returns, np.arange(8) < solved)
        assert informative(stats).tolist() == [expected]


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5)), min_size=1, max_size=40))
def test_statistics_match_numpy_however_they_arrive(rows: list[tuple[int, float]]) -> None:
    tasks, returns = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    half = len(rows) // 2
    stats = TaskStats.empty(4).update(tasks[:half], returns[:half], returns[:half] > 0)
    stats = stats.update(tasks[half:], returns[half:], returns[half:] > 0)
    for t in np.unique(tasks):
        task_returns = returns[tasks == t]
        assert stats.count[t] == len(task_returns)
        assert stats.mean[t] == pytest.approx(task_returns.mean(), abs=1e-9)
        assert stats.std[t] == pytest.approx(task_returns.std(), abs=1e-6)
        assert stats.best[t] == task_returns.max()
        assert stats.solved[t] == (task_returns > 0).sum()


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5)), max_size=40))
def test_statistics_come_back_from_json_to_the_last_bit(rows: list[tuple[int, float]]) -> None:
    tasks = np.array([row[0] for row in rows], dtype=np.int64)
    returns = np.array([row[1] for row in rows])
    stats = TaskStats.empty(4).update(tasks, returns, returns > 0)
    restored = TaskStats.empty(4).restored(json.loads(json.dumps(stats.state_dict())))
    for name in ("count", "mean", "spread", "best", "solved"):
        assert getattr(restored, name).tolist() == getattr(stats, name).tolist()
