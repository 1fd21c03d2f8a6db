"""Rolling statistics."""

import math

import pytest
from rollwindow import Ewma, RollingExtremes, RollingMean, RollingMedian, RollingVariance


def pushed(statistic, values):
    """What each push returns."""
    return [statistic.push(value) for value in values]


def test_mean():
    """The mean is over the last values only."""
    assert pushed(RollingMean(3), [1, 2, 3, 4]) == [1.0, 1.5, 2.0, 3.0]


def test_mean_is_exact():
    """A huge value leaves no error behind when it has left the window."""
    assert RollingMean(2).extend([1e300, 0.5, 0.25]) == 0.375


@pytest.mark.parametrize("statistic", [RollingMean(2), RollingVariance(2), RollingMedian(2)])
def test_nothing_pushed(statistic):
    """Before the first value a statistic is NaN."""
    assert math.isnan(statistic.value)


def test_nan_is_refused():
    """A value that is NaN is refused."""
    with pytest.raises(ValueError, match=r"takes no NaN"):
        RollingMean(2).push(math.nan)


def test_zero_leaves_the_window():
    """A zero that leaves the window is taken out of a median."""
    assert RollingMedian(1).extend([0, 5]) == 5


def test_sample_variance():
    """The variance of a sample divides by one less than the number of values."""
    assert pushed(RollingVariance(3), [1, 2, 3, 9])[1:] == [0.5, 1.0, pytest.approx(43 / 3)]


def test_sample_variance_of_one_value():
    """A sample of one value has no variance."""
    assert math.isnan(RollingVariance(3).push(5))


def test_population_variance():
    """The variance of a population divides by the number of values."""
    assert pushed(RollingVariance(2, sample=False), [1, 3, 7]) == [0.0, 1.0, 4.0]


def test_deviation():
    """The deviation is the root of the variance."""
    statistic = RollingVariance(2, sample=False)
    statistic.extend([1, 7])
    assert statistic.deviation == 3.0


def test_score():
    """The score of a value is its distance from the mean in deviations."""
    statistic = RollingVariance(2, sample=False)
    statistic.extend([1, 7])
    assert (statistic.score(10), statistic.score(1)) == (2.0, -1.0)


@pytest.mark.parametrize("values", [[5], [5, 5]])
def test_score_without_deviation(values):
    """The score is zero where there is no deviation."""
    statistic = RollingVariance(3)
    statistic.extend(values)
    assert statistic.score(9) == 0.0


def test_median():
    """The median is the value in the middle, or the mean of the two there."""
    assert pushed(RollingMedian(3), [5, 1, 3, 9, 8]) == [5, 3.0, 3, 3, 8]


@pytest.mark.parametrize(("quantile", "value"), [(0, 10), (1, 50), (0.25, 20), (0.9, 46)])
def test_quantile(quantile, value):
    """A quantile is interpolated between the values next to it."""
    statistic = RollingMedian(5, quantile)
    assert statistic.extend([30, 10, 50, 20, 40]) == pytest.approx(value)


@pytest.mark.parametrize("quantile", [-0.1, 1.1])
def test_impossible_quantile(quantile):
    """A quantile that is not between 0 and 1 is refused."""
    with pytest.raises(ValueError, match=r"a quantile is between 0 and 1"):
        RollingMedian(5, quantile)


def test_extremes():
    """The least and the greatest value are over the last values only."""
    assert pushed(RollingExtremes(2), [3, 1, 2, 5]) == [(3, 3), (1, 3), (1, 2), (2, 5)]


def test_extremes_of_equal_values():
    """Of equal extremes the later one stays when the earlier one leaves the window."""
    assert pushed(RollingExtremes(3), [4, 4, 1, 2]) == [(4, 4), (4, 4), (1, 4), (1, 4)]


def test_spread():
    """The spread is the greatest value less the least."""
    extremes = RollingExtremes(3)
    pushed(extremes, [3, 1, 8])
    assert extremes.spread == 7


def test_extremes_of_nothing():
    """Before the first value the extremes are NaN."""
    assert math.isnan(RollingExtremes(1).least) and math.isnan(RollingExtremes(1).greatest)


def test_extremes_size():
    """A window without values is refused."""
    with pytest.raises(ValueError, match=r"size is at least 1, got 0"):
        RollingExtremes(0)


def test_window_of_one():
    """In a window of one value the extremes are this value."""
    assert pushed(RollingExtremes(1), [3, 1, 2]) == [(3, 3), (1, 1), (2, 2)]


def test_ewma():
    """The weighted mean begins with the first value and moves towards each new one."""
    assert pushed(Ewma(0.5), [4, 8, 0]) == [4, 6.0, 3.0]


def test_ewma_unbiased():
    """The unbiased mean weights the first values as if there had been none before."""
    assert pushed(Ewma(0.5, unbiased=True), [4, 10]) == [4.0, 8.0]


def test_ewma_of_nothing():
    """Before the first value the weighted mean is NaN."""
    assert math.isnan(Ewma(0.5).value)


def test_ewma_after_a_zero():
    """A first value of zero counts like any other."""
    assert pushed(Ewma(0.5), [0, 8]) == [0, 4.0]


@pytest.mark.parametrize(("count", "alpha"), [(1, 0.5), (0.5, 0.75)])
def test_half_life(count, alpha):
    """With a half-life of one value each value counts half as much as the next."""
    assert Ewma.from_half_life(count).alpha == alpha


def test_largest_alpha():
    """With an alpha of 1 only the last value counts."""
    assert pushed(Ewma(1), [4, 8]) == [4, 8]


@pytest.mark.parametrize("alpha", [0, 1.5])
def test_impossible_alpha(alpha):
    """An alpha of zero or more than one is refused."""
    with pytest.raises(ValueError, match=r"alpha is more than 0 and at most 1"):
        Ewma(alpha)


def test_clear():
    """A statistic that was cleared begins anew."""
    mean, median = RollingMean(2), RollingMedian(3)
    for statistic in (mean, median):
        statistic.extend([1, 5, 9])
        statistic.clear()
    assert (mean.push(4), median.extend([3, 1, 2])) == (4.0, 2)


def test_mean_of_a_variance():
    """The mean that a variance knows is over the last values only."""
    variance = RollingVariance(2)
    variance.extend([9, 1, 4])
    assert variance.mean == 2.5
