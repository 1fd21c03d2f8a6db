"""Single dates."""

from datetime import date

import pytest
from workcal import (
    FRIDAY,
    MONDAY,
    SUNDAY,
    add_months,
    add_years,
    age,
    days_in_month,
    easter,
    end_of_month,
    nth_weekday,
)


@pytest.mark.parametrize(
    ("month", "days"), [(1, 31), (4, 30), (6, 30), (7, 31), (8, 31), (9, 30), (11, 30), (12, 31)]
)
def test_days_in_month(month, days):
    """Months have 30 or 31 days."""
    assert days_in_month(2023, month) == days


@pytest.mark.parametrize(("year", "days"), [(2023, 28), (2024, 29), (1900, 28), (2000, 29)])
def test_february(year, days):
    """February has 29 days in years divisible by 4, of the centuries only in those by 400."""
    assert days_in_month(year, 2) == days


@pytest.mark.parametrize("month", [0, 13])
def test_no_such_month(month):
    """A month out of range is refused."""
    with pytest.raises(ValueError, match="between 1 and 12"):
        days_in_month(2024, month)


def test_end_of_month():
    """The end of a month is its last day."""
    assert end_of_month(date(2024, 2, 3)) == date(2024, 2, 29)


def test_add_months():
    """A month later is the same day of the next month."""
    assert add_months(date(2024, 3, 15), 1) == date(2024, 4, 15)


def test_add_months_to_short_month():
    """A month after the 31st of January is the last day of February."""
    assert add_months(date(2023, 1, 31), 1) == date(2023, 2, 28)


@pytest.mark.parametrize(
    ("months", "day"),
    [
        (1, date(2024, 1, 5)),
        (12, date(2024, 12, 5)),
        (13, date(2025, 1, 5)),
        (-12, date(2022, 12, 5)),
    ],
)
def test_add_months_over_years(months, day):
    """Adding months may lead to another year."""
    assert add_months(date(2023, 12, 5), months) == day


def test_subtract_months():
    """A negative number of months goes back, also over the start of the year."""
    assert add_months(date(2024, 1, 15), -1) == date(2023, 12, 15)


def test_add_years():
    """A year after the 29th of February is the 28th."""
    assert add_years(date(2024, 2, 29), 1) == date(2025, 2, 28)


def test_add_four_years():
    """Four years after a 29th of February is another one."""
    assert add_years(date(2024, 2, 29), 4) == date(2028, 2, 29)


@pytest.mark.parametrize(
    ("on", "years"),
    [
        (date(2020, 5, 9), 19),
        (date(2020, 5, 10), 20),
        (date(2020, 5, 11), 20),
        (date(2020, 4, 20), 19),
    ],
)
def test_age(on, years):
    """A year is complete on the birthday, not on the day before."""
    assert age(date(2000, 5, 10), on) == years


def test_age_of_leap_day():
    """Who is born on the 29th of February completes a year on the 1st of March."""
    assert (
        age(date(2004, 2, 29), date(2005, 2, 28)),
        age(date(2004, 2, 29), date(2005, 3, 1)),
    ) == (
        0,
        1,
    )


def test_age_at_birth():
    """On the day of birth the age is 0."""
    assert age(date(2000, 5, 10), date(2000, 5, 10)) == 0


def test_age_before_birth():
    """There is no age before the birth."""
    with pytest.raises(ValueError, match="lies before"):
        age(date(2000, 5, 10), date(2000, 5, 9))


@pytest.mark.parametrize(
    ("weekday", "n", "day"),
    [
        (SUNDAY, 1, 1),
        (MONDAY, 1, 2),
        (SUNDAY, 5, 29),
        (FRIDAY, 2, 13),
        (FRIDAY, -1, 27),
        (MONDAY, -1, 30),
    ],
)
def test_nth_weekday(weekday, n, day):
    """Weekdays of a month are counted from its start or from its end."""
    assert nth_weekday(2024, 9, weekday, n) == date(2024, 9, day)


def test_second_to_last_weekday():
    """-2 is the weekday one week before the last one."""
    assert nth_weekday(2024, 9, MONDAY, -2) == date(2024, 9, 23)


@pytest.mark.parametrize("n", [0, 5, -5])
def test_no_such_weekday(n):
    """A month without such a weekday is refused."""
    with pytest.raises(ValueError, match="no such weekday"):
        nth_weekday(2024, 9, FRIDAY, n)


@pytest.mark.parametrize(
    "day",
    [
        date(1961, 4, 2),
        date(2000, 4, 23),
        date(2019, 4, 21),
        date(2024, 3, 31),
        date(2025, 4, 20),
        date(1981, 4, 19),
        date(2049, 4, 18),
        date(2285, 3, 22),
    ],
)
def test_easter(day):
    """Easter Sunday falls on the days that the tables of the church give."""
    assert easter(day.year) == day
