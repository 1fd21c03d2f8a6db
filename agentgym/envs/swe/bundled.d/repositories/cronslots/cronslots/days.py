"""Facts about months and weeks that a schedule needs."""

from __future__ import annotations

from datetime import date

_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year: int) -> bool:
    """Say whether a year has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_length(year: int, month: int) -> int:
    """Return the number of days of a month."""
    if month == 2 and is_leap(year):
        return 29
    return _LENGTHS[month - 1]


def cron_weekday(day: date) -> int:
    """Return the day of the week as cron counts it: Sunday is 0, Saturday 6."""
    return day.isoweekday() % 7
