"""Workdays."""

from datetime import date

import pytest
from workcal import FRIDAY, SUNDAY, DateRange, WorkCalendar

PLAIN = WorkCalendar()
# Monday 25 to Sunday 31 March 2024; Friday and the next Monday are holidays.
EASTER = WorkCalendar(holidays=[date(2024, 3, 29), date(2024, 4, 1)])


def test_weekdays():
    """Monday to Friday are workdays, Saturday and Sunday are not."""
    week = [PLAIN.is_workday(date(2024, 3, day)) for day in range(4, 11)]
    assert week == [True] * 5 + [False] * 2


def test_holiday():
    """A holiday is no workday."""
    assert EASTER.is_workday(date(2024, 3, 29)) is False


def test_extra_day():
    """An extra day is a workday although it is a Saturday."""
    assert WorkCalendar(extra=[date(2024, 3, 9)]).is_workday(date(2024, 3, 9)) is True


def test_other_weekend():
    """The weekend may be on other days."""
    calendar = WorkCalendar(weekend=[FRIDAY])
    assert [calendar.is_workday(date(2024, 3, day)) for day in (8, 9)] == [False, True]


def test_no_workday_left():
    """A weekend of seven days is refused."""
    with pytest.raises(ValueError, match="at least one day"):
        WorkCalendar(weekend=range(7))


def test_weekend_of_six_days():
    """A weekend of six days leaves one to work on."""
    assert WorkCalendar(weekend=range(6)).add(date(2024, 3, 4), 1) == date(2024, 3, 10)


def test_add():
    """A workday after Thursday is Friday, two are Monday."""
    assert [PLAIN.add(date(2024, 3, 7), n).day for n in (1, 2)] == [8, 11]


def test_add_over_holidays():
    """Holidays do not count when workdays are added."""
    assert EASTER.add(date(2024, 3, 28), 1) == date(2024, 4, 2)


def test_add_to_weekend():
    """A workday after Saturday is Monday."""
    assert PLAIN.add(date(2024, 3, 9), 1) == date(2024, 3, 11)


def test_subtract():
    """A workday before Monday is Friday."""
    assert PLAIN.add(date(2024, 3, 11), -1) == date(2024, 3, 8)


@pytest.mark.parametrize(("day", "result"), [(8, 8), (9, 11)])
def test_add_zero(day, result):
    """Zero workdays after a day is the day itself or the next workday."""
    assert PLAIN.add(date(2024, 3, day), 0) == date(2024, 3, result)


def test_on_or_before():
    """The workday on or before a Sunday is Friday."""
    assert PLAIN.on_or_before(date(2024, 3, 10)) == date(2024, 3, 8)


@pytest.mark.parametrize(("day", "result"), [(9, 8), (10, 11), (12, 12)])
def test_nearest(day, result):
    """The nearest workday to Saturday is Friday, to Sunday Monday."""
    assert PLAIN.nearest(date(2024, 3, day)) == date(2024, 3, result)


def test_nearest_of_two():
    """Of two workdays that are equally near the earlier one is taken."""
    assert WorkCalendar(weekend=[SUNDAY]).nearest(date(2024, 3, 10)) == date(2024, 3, 9)


def test_count():
    """The workdays of a range are counted without holidays."""
    assert EASTER.count(DateRange(date(2024, 3, 25), date(2024, 4, 2))) == 5


def test_workdays():
    """The workdays of a range are listed in order."""
    days = PLAIN.workdays(DateRange(date(2024, 3, 8), date(2024, 3, 11)))
    assert [day.day for day in days] == [8, 11]


def test_breaks():
    """A long weekend is a break of at least three days."""
    found = EASTER.breaks(DateRange(date(2024, 3, 20), date(2024, 4, 10)))
    assert [str(part) for part in found] == ["2024-03-29..2024-04-01"]


def test_short_breaks():
    """Ordinary weekends are breaks of two days."""
    found = PLAIN.breaks(DateRange(date(2024, 3, 4), date(2024, 3, 18)), at_least=2)
    assert [str(part) for part in found] == ["2024-03-09..2024-03-10", "2024-03-16..2024-03-17"]


def test_break_at_the_end():
    """A break ends with the range."""
    found = EASTER.breaks(DateRange(date(2024, 3, 25), date(2024, 3, 31)))
    assert [str(part) for part in found] == ["2024-03-29..2024-03-31"]
