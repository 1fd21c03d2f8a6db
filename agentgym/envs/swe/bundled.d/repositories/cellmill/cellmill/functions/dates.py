"""Days as numbers: 1 is the last day of 1899, as in other spreadsheets after February 1900."""

from __future__ import annotations

import calendar
import datetime

from cellmill.functions.registry import function
from cellmill.values.conversion import to_whole
from cellmill.values.kinds import ErrorValue, Failed, Value

_ORIGIN = datetime.date(1899, 12, 30)
_LAST = 2_958_465


def day_number(day: datetime.date) -> int:
    """Return the number of a day.

    Raises:
        Failed: It lies before the first one.
    """
    number = (day - _ORIGIN).days
    if number < 0:
        raise Failed(ErrorValue.NUM)
    return number


def day_of(value: Value) -> datetime.date:
    """Return the day of a number.

    Raises:
        Failed: There is no such day.
    """
    number = to_whole(value)
    if not 0 <= number <= _LAST:
        raise Failed(ErrorValue.NUM)
    return _ORIGIN + datetime.timedelta(days=number)


def months_later(day: datetime.date, months: int, at_end: bool = False) -> datetime.date:
    """Return the same day some months later, or the last one if that month is too short.

    Args:
        day: The day.
        months: How many months later; negative for earlier.
        at_end: Whether the last day of that month is wanted.

    Raises:
        Failed: There is no such year.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1899 <= year <= 9999:
        raise Failed(ErrorValue.NUM)
    last = calendar.monthrange(year, month + 1)[1]
    return datetime.date(year, month + 1, last if at_end else min(day.day, last))


@function("DATE", 3)
def _date(year: Value, month: Value, day: Value) -> int:
    """Return the number of a day; months and days beyond the end go on in the next."""
    years = to_whole(year)
    if not 1900 <= years <= 9999:
        raise Failed(ErrorValue.NUM)
    first = months_later(datetime.date(years, 1, 1), to_whole(month) - 1)
    number = day_number(first) + to_whole(day) - 1
    return day_number(day_of(number))


@function("YEAR", 1)
def _year(value: Value) -> int:
    return day_of(value).year


@function("MONTH", 1)
def _month(value: Value) -> int:
    return day_of(value).month


@function("DAY", 1)
def _day(value: Value) -> int:
    return day_of(value).day


@function("WEEKDAY", 1, 2)
def _weekday(value: Value, kind: Value = 1) -> int:
    """Return the day of the week: kind 1 counts from Sunday, 2 from Monday, 3 from 0."""
    monday_first = day_of(value).weekday()
    which = to_whole(kind)
    if which == 1:
        return (monday_first + 1) % 7 + 1
    if which == 2:
        return monday_first + 1
    if which == 3:
        return monday_first
    raise Failed(ErrorValue.NUM)


@function("DAYS", 2)
def _days(end: Value, start: Value) -> int:
    return day_number(day_of(end)) - day_number(day_of(start))


@function("EDATE", 2)
def _later(start: Value, months: Value) -> int:
    return day_number(months_later(day_of(start), to_whole(months)))


@function("EOMONTH", 2)
def _month_end(start: Value, months: Value) -> int:
    return day_number(months_later(day_of(start), to_whole(months), at_end=True))
