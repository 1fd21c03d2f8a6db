"""Which moments match."""

from datetime import date, datetime

import pytest
from cronslots import Schedule


def test_match():
    """A moment matches if its minute and its hour belong to the schedule."""
    assert Schedule.parse("30 2 * * *").matches(datetime(2024, 3, 1, 2, 30)) is True


def test_seconds_do_not_matter():
    """The seconds of a moment are ignored."""
    assert Schedule.parse("30 2 * * *").matches(datetime(2024, 3, 1, 2, 30, 59)) is True


@pytest.mark.parametrize(("hour", "minute"), [(2, 29), (3, 30)])
def test_other_time(hour, minute):
    """A moment at another minute or hour does not match."""
    assert Schedule.parse("30 2 * * *").matches(datetime(2024, 3, 1, hour, minute)) is False


def test_other_month():
    """A day in another month does not match."""
    assert Schedule.parse("0 0 1 4 *").matches_day(date(2024, 3, 1)) is False


def test_weekday():
    """The 3rd of March 2024 was a Sunday."""
    assert Schedule.parse("0 0 * * 0").matches_day(date(2024, 3, 3)) is True


def test_saturday():
    """The 2nd of March 2024 was a Saturday."""
    assert Schedule.parse("0 0 * * 6").matches_day(date(2024, 3, 2)) is True


def test_only_day_of_month():
    """With a star as day of the week only the day of the month counts."""
    schedule = Schedule.parse("0 0 13 * *")
    assert [schedule.matches_day(date(2024, 9, day)) for day in (12, 13)] == [False, True]


def test_only_day_of_week():
    """With a star as day of the month only the day of the week counts."""
    schedule = Schedule.parse("0 0 * * fri")
    assert [schedule.matches_day(date(2024, 9, day)) for day in (12, 13)] == [False, True]


@pytest.mark.parametrize(("day", "fires"), [(13, True), (20, True), (19, False)])
def test_either_day(day, fires):
    """With both day fields restricted it is enough that one of them matches."""
    assert Schedule.parse("0 0 13 * fri").matches_day(date(2024, 9, day)) is fires


def test_step_in_day_of_month_is_no_restriction():
    """A day field that begins with a star has to match together with the other one."""
    schedule = Schedule.parse("0 0 */2 * fri")
    assert [schedule.matches_day(date(2024, 9, day)) for day in (13, 20)] == [True, False]


@pytest.mark.parametrize(
    ("year", "month", "last"),
    [(2024, 2, 29), (2023, 2, 28), (2100, 2, 28), (2000, 2, 29), (2024, 4, 30), (2024, 12, 31)],
)
def test_last_day_of_month(year, month, last):
    """L matches the last day of each month, also of February in leap years, and no other."""
    schedule = Schedule.parse("0 0 L * *")
    assert schedule.matches_day(date(year, month, last)) is True
    assert schedule.matches_day(date(year, month, last - 1)) is False


def test_times():
    """The times of a day are listed from the earliest to the latest."""
    times = [f"{at:%H:%M}" for at in Schedule.parse("0,30 9,8 * * *").times()]
    assert times == ["08:00", "08:30", "09:00", "09:30"]
