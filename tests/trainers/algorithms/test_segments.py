"""Segment arithmetic against loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trainers.algorithms.segments import (
    Segments,
    centred,
    dense,
    reverse_scan,
    segments,
    spread,
)

values = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30)


@given(values, st.data())
def test_reverse_scan_solves_the_recurrence(x: list[float], data: st.DataObject) -> None:
    carry = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 0.9, 1.0]), min_size=len(x), max_size=len(x))
    )
    carry[-1] = 0.0
    expected, run = [0.0] * len(x), 0.0
    for k in reversed(range(len(x))):
        run = x[k] + carry[k] * run
        expected[k] = run
    np.testing.assert_allclose(reverse_scan(np.array(x), np.array(carry)), expected, atol=1e-9)


@given(values, st.data())
def test_centred_and_spread_match_numpy_by_segment(x: list[float], data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    array, key = np.array(x), dense(np.array(ids))
    reference = centred(array, segments(key))
    left_out = centred(array, segments(key), leave_one_out=True)
    deviation = spread(array, segments(key))
    for s in range(key.max() + 1):
        member = key == s
        n = member.sum()
        mean = array[member].mean()
        expected = array[member] - mean if n > 1 else [0.0]
        np.testing.assert_allclose(reference[member], expected, atol=1e-9)
        np.testing.assert_allclose(
            left_out[member], reference[member] * n / max(n - 1, 1), atol=1e-9
        )
        std = array[member].std(ddof=1) if n > 1 else 0.0
        np.testing.assert_allclose(deviation[member], std, atol=1e-9)
        population = spread(array, segments(key), ddof=0)[member]
        np.testing.assert_allclose(population, array[member].std(), atol=1e-9)


@given(st.floats(-1e6, 1e6), st.integers(2, 40))
def test_equal_values_give_exact_zeros(value: float, n: int) -> None:
    x, seg = np.full(n, value), segments(np.zeros(n, dtype=np.int64))
    assert not centred(x, seg).any()
    assert not centred(x, seg, leave_one_out=True).any()
    assert not spread(x, seg).any()


def test_zero_padding_counts_absent_members() -> None:
    key = np.zeros(2, dtype=np.int64)
    seg = Segments(key, np.ones(2), np.array([2.0]))
    x = np.array([3.0, 1.0])
    np.testing.assert_allclose(centred(x, seg), [2.0, 0.0])
    np.testing.assert_allclose(centred(x, seg, leave_one_out=True), [3 - 1 / 3, 1 - 3 / 3])
    np.testing.assert_allclose(spread(x, seg), np.std([3, 1, 0, 0], ddof=1))


def test_weight_zero_only_receives() -> None:
    seg = segments(np.zeros(3, dtype=np.int64), np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(centred(np.array([0.0, 2.0, 10.0]), seg), [-1, 1, 9])
    loo = centred(np.array([0.0, 2.0, 10.0]), seg, leave_one_out=True)
    np.testing.assert_allclose(loo, [-2, 2, 9])


def test_dense_numbers_combinations() -> None:
    assert dense(np.array([7, 7, -1, 7]), np.array([1, 2, 1, 1])).tolist() == [1, 2, 0, 1]
