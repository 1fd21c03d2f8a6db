"""Descriptive statistics."""

import pytest
from statgrid import (
    histogram,
    mean,
    median,
    modes,
    quantile,
    ranks,
    standard_deviation,
    variance,
)


def test_mean():
    """The mean of 1, 2 and 6 is 3."""
    assert mean([1, 2, 6]) == 3


@pytest.mark.parametrize("function", [mean, median, modes])
def test_no_values(function):
    """An empty list has no mean, median and mode."""
    with pytest.raises(ValueError, match="at least 1 values, got 0"):
        function([])


def test_one_value():
    """A single number is its own mean, median and mode."""
    assert (mean([5]), median([5]), modes([5])) == (5, 5, [5])


def test_sample_variance():
    """The variance of a sample divides by one less than the number of values."""
    assert variance([1, 3, 5]) == 4


def test_population_variance():
    """The variance of all values divides by their number."""
    assert variance([2, 4], sample=False) == 1


def test_variance_of_one_value():
    """A sample needs two values for its variance, all values need one."""
    assert variance([5], sample=False) == 0
    with pytest.raises(ValueError, match="at least 2 values, got 1"):
        variance([5])


def test_standard_deviation():
    """The standard deviation is the root of the variance."""
    assert (standard_deviation([1, 3, 5]), standard_deviation([2, 4], sample=False)) == (2, 1)


@pytest.mark.parametrize(
    ("values", "middle"), [([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([1, 9], 5), ([5, 5, 1], 5)]
)
def test_median(values, middle):
    """The median is the number in the middle, or the mean of the two there."""
    assert median(values) == middle


@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1, 4)])
def test_quantile(share, value):
    """Quantiles between two numbers are interpolated."""
    assert quantile([4, 2, 1, 3], share) == pytest.approx(value)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_bad_share(share):
    """A share below 0 or above 1 is refused."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile([1], share)


def test_quantile_of_nothing():
    """An empty list has no quantiles."""
    with pytest.raises(ValueError, match="at least 1"):
        quantile([], 0.5)


def test_modes():
    """All of the most frequent numbers are modes, in ascending order."""
    assert modes([3, 1, 3, 1, 2]) == [1, 3]


def test_ranks():
    """The smallest number has rank 1, equal numbers share their ranks."""
    assert ranks([10, 30, 20, 20]) == [1, 4, 2.5, 2.5]


def test_histogram():
    """The end of a bin belongs to the next one, and the largest number to the last bin."""
    assert histogram([0, 1, 2, 3, 4], 2) == [(0, 2, 2), (2, 4, 3)]


def test_histogram_away_from_zero():
    """Bins begin with the smallest number."""
    assert histogram([1, 2, 2, 9], 2) == [(1, 5, 3), (5, 9, 1)]


def test_histogram_with_empty_bin():
    """A bin may be empty."""
    assert [count for _, _, count in histogram([0, 0, 9], 3)] == [2, 0, 1]


def test_histogram_of_equal_numbers():
    """Equal numbers make one bin."""
    assert histogram([7, 7], 5) == [(7, 7, 2)]


def test_no_bins():
    """At least one bin is needed."""
    with pytest.raises(ValueError, match="bins"):
        histogram([1, 2], 0)
    assert histogram([1, 2], 1) == [(1, 2, 2)]
