"""When a schedule fires next."""

from datetime import datetime

import pytest
from cronslots import Schedule


def following(text, *moment):
    """Return the next time after a moment as text."""
    found = Schedule.parse(text).next_after(datetime(*moment))
    return found and f"{found:%Y-%m-%d %H:%M}"


def previous(text, *moment):
    """Return the last time before a moment as text."""
    found = Schedule.parse(text).last_before(datetime(*moment))
    return found and f"{found:%Y-%m-%d %H:%M}"


def test_next_on_the_same_day():
    """The next time may be on the same day."""
    assert following("0 9,17 * * *", 2024, 3, 1, 9, 30) == "2024-03-01 17:00"


def test_next_is_strictly_later():
    """A moment at which the schedule fires is not its own next time."""
    assert following("0 9 * * *", 2024, 3, 1, 9, 0) == "2024-03-02 09:00"


def test_next_after_seconds():
    """One second before the minute the next time is that minute."""
    assert following("0 9 * * *", 2024, 3, 1, 8, 59, 59) == "2024-03-01 09:00"


def test_next_over_the_end_of_the_year():
    """The next time may be in the next year."""
    assert following("@yearly", 2024, 1, 1, 0, 0) == "2025-01-01 00:00"


def test_next_skips_days_that_do_not_match():
    """The next time falls on a day that matches."""
    assert following("0 9 * * mon", 2024, 3, 1, 8, 0) == "2024-03-04 09:00"


def test_next_leap_day():
    """The next 29th of February may be eight years away."""
    assert following("0 0 29 2 *", 2096, 3, 1) == "2104-02-29 00:00"


@pytest.mark.parametrize("month", [1, 3, 5, 7, 8, 10, 12])
def test_long_months(month):
    """The last day of a long month is the 31st and not the 30th."""
    assert following(f"0 0 L {month} *", 2024, month, 29) == f"2024-{month:02d}-31 00:00"


@pytest.mark.parametrize("month", [4, 6, 9, 11])
def test_short_months(month):
    """The last day of a short month is the 30th."""
    assert following(f"0 0 L {month} *", 2024, month, 29) == f"2024-{month:02d}-30 00:00"


def test_next_of_impossible_date():
    """A schedule for the 30th of February never fires."""
    assert following("0 0 30 2 *", 2024, 1, 1) is None


def test_next_after_the_calendar():
    """There is no next time after the last day that Python knows."""
    assert following("0 0 * * *", 9999, 12, 31) is None


def test_previous_on_the_same_day():
    """The last time may be on the same day."""
    assert previous("0 9,17 * * *", 2024, 3, 1, 16, 59) == "2024-03-01 09:00"


def test_previous_is_strictly_earlier():
    """A moment at which the schedule fires is not its own last time."""
    assert previous("0 9,17 * * *", 2024, 3, 1, 9, 0) == "2024-02-29 17:00"


def test_previous_skips_days_that_do_not_match():
    """The last time falls on a day that matches."""
    assert previous("0 9 * * mon", 2024, 3, 4, 8, 0) == "2024-02-26 09:00"


def test_previous_of_impossible_date():
    """A schedule for the 31st of April has never fired."""
    assert previous("0 0 31 4 *", 2024, 1, 1) is None


@pytest.mark.parametrize(("count", "hours"), [(0, []), (1, [12]), (3, [12, 18, 0])])
def test_upcoming(count, hours):
    """Upcoming gives as many times as were asked for."""
    found = Schedule.parse("0 */6 * * *").upcoming(datetime(2024, 3, 1, 6, 0), count)
    assert [moment.hour for moment in found] == hours


def test_upcoming_of_impossible_date():
    """Upcoming gives nothing for a schedule that never fires."""
    assert Schedule.parse("0 0 30 2 *").upcoming(datetime(2024, 1, 1), 3) == []


def test_count():
    """count_between counts all times of the days between."""
    schedule = Schedule.parse("0,30 9 * * *")
    assert schedule.count_between(datetime(2024, 2, 27), datetime(2024, 3, 2)) == 8


def test_count_includes_the_start():
    """A time that is the start of the period counts."""
    schedule = Schedule.parse("0 9 * * *")
    assert schedule.count_between(datetime(2024, 3, 1, 9), datetime(2024, 3, 1, 10)) == 1


def test_count_excludes_the_end():
    """A time that is the end of the period does not count."""
    schedule = Schedule.parse("0 9 * * *")
    assert schedule.count_between(datetime(2024, 3, 1, 8), datetime(2024, 3, 1, 9)) == 0


def test_count_on_the_last_day():
    """A time on the last day before the end of the period counts."""
    schedule = Schedule.parse("0 9 * * *")
    assert schedule.count_between(datetime(2024, 3, 1, 10), datetime(2024, 3, 2, 10)) == 1


def test_count_of_empty_period():
    """A period that ends before it starts has no times."""
    schedule = Schedule.parse("* * * * *")
    assert schedule.count_between(datetime(2024, 3, 2), datetime(2024, 3, 1)) == 0
