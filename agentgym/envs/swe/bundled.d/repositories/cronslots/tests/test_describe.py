"""Schedules in words."""

import pytest
from cronslots import Schedule, describe


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 9 * * *", "at 09:00 every day"),
        ("* * * * *", "every minute every day"),
        ("5 * * * *", "at minute 05 of every hour every day"),
        ("* 9 * * *", "every minute past hour 9 every day"),
        ("0,30 9,17 * * *", "at 09:00, 09:30, 17:00 and 17:30 every day"),
    ],
)
def test_times(text, words):
    """Minutes and hours are put into words."""
    assert describe(Schedule.parse(text)) == words


def test_many_times():
    """More than four times a day are described by minute and hour."""
    assert (
        describe(Schedule.parse("7 1-5 * * *"))
        == "at minute 07 past hour 1, 2, 3, 4 and 5 every day"
    )


def test_step_of_minutes():
    """A step of minutes is described by the minutes that it gives."""
    assert describe(Schedule.parse("*/30 * * * *")) == "at minute 00 and 30 of every hour every day"


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ("* * mon-fri", "on workdays"),
        ("* * 0,6", "on Sunday and Saturday"),
        ("1 * *", "on day 1 of the month"),
        ("1,15 * *", "on day 1 and 15 of the month"),
        ("L * *", "on the last day of the month"),
        ("1,L * *", "on day 1 and the last day of the month"),
        ("13 * fri", "on day 13 of the month or on Friday"),
    ],
)
def test_days(days, words):
    """Days of the month and of the week are put into words."""
    assert describe(Schedule.parse(f"0 9 {days}")) == f"at 09:00 {words}"


def test_months():
    """Months are named at the end."""
    assert describe(Schedule.parse("0 9 * 1,12 *")) == "at 09:00 every day in January and December"
