"""Arithmetic with single dates."""

from __future__ import annotations

from datetime import date, timedelta

MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, SATURDAY, SUNDAY = range(7)


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month.

    Raises:
        ValueError: The month is not between 1 and 12.
    """
    if not 1 <= month <= 12:
        raise ValueError(f"month must be between 1 and 12, not {month}")
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def end_of_month(day: date) -> date:
    """Return the last day of the month in which a day lies."""
    return day.replace(day=days_in_month(day.year, day.month))


def add_months(day: date, months: int) -> date:
    """Return the same day of another month, or its last day if it is shorter.

    Args:
        day: The day to begin with.
        months: How many months later; negative numbers go back.

    Returns:
        The day.
    """
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    length = days_in_month(year, month + 1)
    return date(year, month + 1, min(day.day, length))


def add_years(day: date, years: int) -> date:
    """Return the same day of another year; the 29th of February becomes the 28th if need be."""
    return add_months(day, 12 * years)


def age(born: date, on: date) -> int:
    """Return how many years are complete between two days.

    Who is born on the 29th of February completes a year on the 1st of March of common years.

    Raises:
        ValueError: The second day lies before the first.
    """
    if on < born:
        raise ValueError(f"{on} lies before {born}")
    had_birthday = (on.month, on.day) >= (born.month, born.day)
    return on.year - born.year - (0 if had_birthday else 1)


def nth_weekday(year: int, month: int, weekday: int, n: int) -> date:
    """Return the n-th Monday, Tuesday, ... of a month.

    Args:
        year: The year.
        month: The month.
        weekday: The day of the week, 0 for Monday.
        n: 1 for the first, 2 for the second, -1 for the last, -2 for the one before it.

    Returns:
        The day.

    Raises:
        ValueError: The month has no such day.
    """
    length = days_in_month(year, month)
    if n > 0:
        first = date(year, month, 1)
        day = 1 + (weekday - first.weekday()) % 7 + 7 * (n - 1)
    else:
        last = date(year, month, length)
        day = length - (last.weekday() - weekday) % 7 + 7 * (n + 1)
    if n == 0 or not 1 <= day <= length:
        raise ValueError(f"{year}-{month:02d} has no such weekday: {n}")
    return date(year, month, day)


def easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar.

    The method is the one of Meeus, Jones and Butcher (Nature, 1876).
    """
    golden = year % 19
    century, rest = divmod(year, 100)
    skipped, leap = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - skipped - correction + 15) % 30
    quads, years = divmod(rest, 4)
    to_sunday = (32 + 2 * leap + 2 * quads - epact - years) % 7
    late = (golden + 11 * epact + 22 * to_sunday) // 451
    month, day = divmod(epact + to_sunday - 7 * late + 114, 31)
    return date(year, month, day) + timedelta(days=1)
