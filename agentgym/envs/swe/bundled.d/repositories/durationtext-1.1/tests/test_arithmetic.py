"""Splitting and rounding."""

import pytest
from durationtext import HOUR, MINUTE, DurationError, ceil_to, floor_to, round_to, split


def test_split():
    """A duration is split into its units, the longest first, without those that are zero."""
    parts = [(number, unit.name) for number, unit in split(3_601_000)]
    assert parts == [
        (1, "hour"),
        (1, "second"),
    ]


def test_split_into_some_units():
    """Only the units that are asked for are used, and the rest is lost."""
    assert split(90_061_000, [HOUR, MINUTE]) == [(25, HOUR), (1, MINUTE)]


def test_split_nothing():
    """Nothing is split into no parts."""
    assert split(0) == []


def test_split_negative():
    """A negative duration cannot be split."""
    with pytest.raises(DurationError, match="negative"):
        split(-1)


@pytest.mark.parametrize(
    ("milliseconds", "result"), [(119_999, 60_000), (120_000, 120_000), (-1, -60_000)]
)
def test_floor(milliseconds, result):
    """floor_to rounds down, also below zero."""
    assert floor_to(milliseconds, "minute") == result


@pytest.mark.parametrize(
    ("milliseconds", "result"), [(60_001, 120_000), (120_000, 120_000), (-59_999, 0)]
)
def test_ceil(milliseconds, result):
    """ceil_to rounds up, also below zero."""
    assert ceil_to(milliseconds, "minute") == result


@pytest.mark.parametrize(
    ("milliseconds", "result"),
    [(29_999, 0), (30_000, 60_000), (89_999, 60_000), (-30_000, -60_000), (-29_999, 0)],
)
def test_round(milliseconds, result):
    """round_to takes the nearest multiple, halves away from zero."""
    assert round_to(milliseconds, "minute") == result


@pytest.mark.parametrize(
    ("rounding", "result"), [(floor_to, 900_000), (ceil_to, 1_800_000), (round_to, 900_000)]
)
def test_step(rounding, result):
    """Durations can be rounded to quarters of an hour."""
    assert rounding(1_200_000, "min", 15) == result


def test_step_zero():
    """A step of zero is refused."""
    with pytest.raises(DurationError, match="step"):
        round_to(1, "s", 0)


def test_unknown_unit():
    """An unknown unit is refused."""
    with pytest.raises(DurationError, match="'fortnight'"):
        floor_to(1, "fortnight")
