"""Pairs and series of numbers."""

import pytest
from statgrid import (
    correlation,
    covariance,
    cumulative,
    differences,
    linear_fit,
    moving_average,
    normalize,
    rank_correlation,
)


def test_covariance():
    """The covariance of a sample divides by one less than the number of pairs."""
    assert covariance([1, 2, 3], [2, 4, 9]) == 3.5


@pytest.mark.parametrize(
    ("ys", "value"), [([2, 4, 6], 1), ([6, 4, 2], -1), ([5, 5, 5], 0), ([1, 0, 1], 0)]
)
def test_correlation(ys, value):
    """The correlation is 1 for rising lines, -1 for falling ones and 0 for constants."""
    assert correlation([1, 2, 3], ys) == pytest.approx(value)


def test_partial_correlation():
    """The correlation of numbers that roughly go together lies between 0 and 1."""
    assert correlation([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)


def test_rank_correlation():
    """The correlation of ranks is 1 if the order is the same."""
    assert rank_correlation([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1)


def test_different_lengths():
    """Pairs need lists of one length."""
    with pytest.raises(ValueError, match="got 2 and 3"):
        covariance([1, 2], [1, 2, 3])


def test_too_few_pairs():
    """Two pairs are needed, and two are enough."""
    with pytest.raises(ValueError, match="at least 2 pairs"):
        covariance([1], [1])
    assert covariance([0, 2], [0, 2]) == 2


def test_linear_fit():
    """The line through points that lie on a line is found."""
    assert linear_fit([0, 1, 2], [1, 3, 5]) == (2, 1)


def test_linear_fit_away_from_zero():
    """The intercept belongs to x = 0 even if all points are far from it."""
    assert linear_fit([10, 12], [7, 6]) == (-0.5, 12)


def test_vertical_line():
    """Points above each other have no line."""
    with pytest.raises(ValueError, match="all x are equal"):
        linear_fit([1, 1], [2, 3])


def test_cumulative():
    """Cumulative sums begin with the first number."""
    assert (cumulative([1, 2, -4]), cumulative([])) == ([1, 3, -1], [])


@pytest.mark.parametrize(("lag", "result"), [(1, [3, 5, 7]), (2, [8, 12]), (4, [])])
def test_differences(lag, result):
    """Differences may be taken over several places."""
    assert differences([1, 4, 9, 16], lag) == result


def test_lag_zero():
    """A lag of zero is refused, and a lag of one is the default."""
    with pytest.raises(ValueError, match="lag"):
        differences([1, 2], 0)
    assert differences([1, 4]) == [3]


@pytest.mark.parametrize(("width", "result"), [(1, [1, 3, 8]), (2, [2, 5.5]), (3, [4]), (4, [])])
def test_moving_average(width, result):
    """A moving average is the mean of neighbours."""
    assert moving_average([1, 3, 8], width) == result


def test_moving_average_width():
    """A width of zero is refused."""
    with pytest.raises(ValueError, match="width"):
        moving_average([1], 0)


def test_normalize():
    """The smallest number becomes 0 and the largest 1."""
    assert normalize([2, 6, 3]) == [0, 1, 0.25]


def test_normalize_to_range():
    """Numbers can be stretched to another range."""
    assert normalize([2, 6, 3], 10, 20) == [10, 20, 12.5]


def test_normalize_equal_numbers():
    """Equal numbers all become the lower end, and an empty list stays empty."""
    assert (normalize([5, 5], 1, 2), normalize([])) == ([1, 1], [])
