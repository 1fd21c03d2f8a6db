"""Whole series."""

import pytest
from rollwindow import crossings, differences, downsample, rolling


def test_rolling():
    """A function is applied to every full window."""
    assert rolling([4, 1, 3, 2], 2, max) == [4, 3, 3]


def test_rolling_partial():
    """Windows at the beginning that are not full count on request."""
    assert rolling([1, 2, 3], 2, sum, partial=True) == [1, 3, 5]


def test_rolling_step():
    """Windows may be several places apart."""
    assert rolling([1, 2, 3, 4, 5], 2, sum, step=3) == [3, 9]


def test_rolling_too_short():
    """A series shorter than the window has no windows."""
    assert rolling([1, 2], 3, sum) == []


@pytest.mark.parametrize(("size", "step"), [(0, 1), (1, 0)])
def test_rolling_arguments(size, step):
    """A window without values and a step of zero are refused."""
    with pytest.raises(ValueError, match=r"size and step are at least 1"):
        rolling([1], size, sum, step)


def test_differences():
    """Differences are between values that follow each other."""
    assert differences([1, 4, 2]) == [3, -2]


def test_differences_with_lag():
    """Differences may be between values further apart."""
    assert differences([1, 4, 2, 9], lag=2) == [1, 5]


def test_lag_of_zero():
    """A lag of zero is refused."""
    with pytest.raises(ValueError, match=r"lag is at least 1, got 0"):
        differences([1], 0)


def test_downsample():
    """A series is replaced by the means of parts of about the same length."""
    assert downsample([1, 3, 5, 7, 9], 2) == [2.0, 7.0]


def test_downsample_to_more_parts_than_values():
    """A series is not made longer by downsampling."""
    assert downsample([1, 3], 5) == [1.0, 3.0]


def test_downsample_nothing():
    """An empty series stays empty."""
    assert downsample([], 3) == []


def test_downsample_to_no_parts():
    """Downsampling to no parts is refused."""
    with pytest.raises(ValueError, match=r"count is at least 1, got 0"):
        downsample([1], 0)


def test_crossings():
    """Crossings of a level are found with their direction."""
    assert crossings([1, 3, 4, 1], 2) == [(1, "up"), (3, "down")]


def test_first_value_is_no_crossing():
    """A series that begins above the level has not crossed it."""
    assert crossings([5, 6], 2) == []


def test_touching_is_no_crossing():
    """Touching the level and going back is no crossing."""
    assert crossings([1, 2, 1], 2) == []


def test_slack():
    """With slack a value must go further than the level to cross it."""
    assert crossings([0, 2.5, 3.5, 1.5, 0.5], 2, slack=1) == [(2, "up"), (4, "down")]
