"""Writing durations."""

import pytest
from durationtext import DurationError, format_clock, format_iso, format_short, format_words


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (5_400_000, "1 hour 30 minutes"),
        (694_861_001, "1 week 1 day 1 hour 1 minute 1 second 1 millisecond"),
        (120_000, "2 minutes"),
        (-1_000, "minus 1 second"),
        (0, "0 seconds"),
    ],
)
def test_words(milliseconds, text):
    """Units are named in the singular for one, in the plural for several."""
    assert format_words(milliseconds) == text


@pytest.mark.parametrize(("most", "text"), [(1, "1 day"), (2, "1 day 2 hours")])
def test_most_units(most, text):
    """Only the longest units are named if fewer are asked for."""
    assert format_words(93_784_000, most=most) == text


def test_joint():
    """The text between two units can be chosen."""
    assert format_words(61_000, joint=", ") == "1 minute, 1 second"


def test_no_units():
    """At least one unit has to be named."""
    with pytest.raises(DurationError, match="at least 1"):
        format_words(1, most=0)


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(5_400_000, "1h30m"), (-1_500, "-1s500ms"), (0, "0s")]
)
def test_short(milliseconds, text):
    """The short form has no spaces."""
    assert format_short(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0:00"),
        (61_000, "1:01"),
        (3_599_000, "59:59"),
        (3_600_000, "1:00:00"),
        (3_723_500, "1:02:03.500"),
        (-5_007, "-0:05.007"),
    ],
)
def test_clock(milliseconds, text):
    """A clock shows hours and decimals only where there are some."""
    assert format_clock(milliseconds) == text


def test_clock_with_hours():
    """A clock can show its hours always."""
    assert format_clock(61_000, always_hours=True) == "0:01:01"


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "PT0S"),
        (93_600_000, "P1DT2H"),
        (604_800_000, "P7D"),
        (180_000, "PT3M"),
        (60_500, "PT1M0.5S"),
        (-1_000, "-PT1S"),
        (86_400_250, "P1DT0.25S"),
    ],
)
def test_iso(milliseconds, text):
    """ISO 8601 puts a T before the hours and leaves out what is zero."""
    assert format_iso(milliseconds) == text
