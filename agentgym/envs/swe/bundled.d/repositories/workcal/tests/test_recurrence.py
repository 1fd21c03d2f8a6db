"""Recurring dates."""

from datetime import date

import pytest
from workcal import FRIDAY, MONDAY, daily, monthly, monthly_on_weekday, weekly, yearly

START = date(2024, 1, 31)  # a Wednesday


def texts(dates):
    """Return months and days."""
    return [f"{day:%m-%d}" for day in dates]


def test_daily():
    """Daily dates begin with the start."""
    assert texts(daily(START, 3)) == ["01-31", "02-01", "02-02"]


def test_every_other_day():
    """Dates may be several days apart."""
    assert texts(daily(START, 3, every=2)) == ["01-31", "02-02", "02-04"]


def test_no_dates():
    """Zero dates are an empty list."""
    assert daily(START, 0) == []


def test_negative_count():
    """A negative number of dates is refused."""
    with pytest.raises(ValueError, match="count must not be negative"):
        weekly(START, -1)


@pytest.mark.parametrize("repeat", [daily, weekly, monthly, yearly])
def test_every_zero(repeat):
    """A distance of zero is refused."""
    with pytest.raises(ValueError, match="every must be at least 1"):
        repeat(START, 2, every=0)


def test_weekly():
    """Weekly dates fall on the weekday of the start."""
    assert texts(weekly(START, 3)) == ["01-31", "02-07", "02-14"]


def test_weekly_on_days():
    """Weekly dates may fall on several weekdays; none lies before the start."""
    assert texts(weekly(START, 4, [FRIDAY, MONDAY])) == ["02-02", "02-05", "02-09", "02-12"]


def test_weekly_on_day_of_start():
    """The start itself counts if its weekday is chosen."""
    assert texts(weekly(START, 2, [2])) == ["01-31", "02-07"]


def test_every_other_week():
    """Every other week skips the week after the one of the start."""
    assert texts(weekly(START, 3, [MONDAY, FRIDAY], every=2)) == ["02-02", "02-12", "02-16"]


@pytest.mark.parametrize("weekday", [-1, 7])
def test_weekday_out_of_range(weekday):
    """A weekday that is not between 0 and 6 is refused."""
    with pytest.raises(ValueError, match="between 0 and 6"):
        weekly(START, 1, [weekday])


def test_weekly_on_sunday():
    """Weekday 6 is Sunday."""
    assert texts(weekly(START, 1, [6])) == ["02-04"]


def test_monthly():
    """Short months give their last day, later ones the day of the start again."""
    assert texts(monthly(START, 3)) == ["01-31", "02-29", "03-31"]


def test_every_third_month():
    """Dates may be several months apart."""
    assert texts(monthly(START, 3, every=3)) == ["01-31", "04-30", "07-31"]


def test_monthly_on_weekday():
    """The first Monday of each month is found from the start on."""
    assert texts(monthly_on_weekday(START, 2, MONDAY, 1)) == ["02-05", "03-04"]


def test_monthly_on_weekday_of_start():
    """A start that is itself such a weekday counts."""
    assert texts(monthly_on_weekday(date(2024, 2, 5), 2, MONDAY, 1)) == ["02-05", "03-04"]


def test_monthly_on_last_weekday():
    """The last Friday of each month is counted from the end."""
    assert texts(monthly_on_weekday(START, 2, FRIDAY, -1)) == ["02-23", "03-29"]


def test_months_without_fifth_weekday():
    """Months without a fifth Friday are skipped."""
    assert texts(monthly_on_weekday(START, 3, FRIDAY, 5)) == ["03-29", "05-31", "08-30"]


@pytest.mark.parametrize("n", [0, 6, -6])
def test_number_of_weekday(n):
    """No month has a sixth weekday, and none a zeroth."""
    with pytest.raises(ValueError, match="1 to 5"):
        monthly_on_weekday(START, 1, FRIDAY, n)


def test_yearly():
    """Yearly dates on the 29th of February fall on the 28th in common years."""
    assert yearly(date(2024, 2, 29), 2) == [date(2024, 2, 29), date(2025, 2, 28)]


def test_every_fourth_year():
    """Dates may be several years apart."""
    assert yearly(date(2024, 2, 29), 2, every=4) == [date(2024, 2, 29), date(2028, 2, 29)]
