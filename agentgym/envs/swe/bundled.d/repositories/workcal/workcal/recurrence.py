"""Dates that come again and again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from workcal.dates import add_months, add_years, nth_weekday


def _check(count: int, every: int) -> None:
    """Refuse numbers that make no sense."""
    if count < 0:
        raise ValueError(f"count must not be negative, got {count}")
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")


def daily(start: date, count: int, every: int = 1) -> list[date]:
    """Return dates that are ``every`` days apart, the first one being ``start``."""
    _check(count, every)
    return [start + timedelta(days=every * index) for index in range(count)]


def weekly(start: date, count: int, weekdays: Iterable[int] = (), every: int = 1) -> list[date]:
    """Return dates on certain weekdays of every n-th week.

    Args:
        start: No date lies before it; its week is the first one.
        count: How many dates to return.
        weekdays: The days of the week, 0 for Monday; without any, the one of ``start``.
        every: 1 for every week, 2 for every other week, and so on.

    Returns:
        The dates in order.

    Raises:
        ValueError: A number makes no sense.
    """
    _check(count, every)
    chosen = sorted(set(weekdays)) or [start.weekday()]
    if chosen[0] < 0 or chosen[-1] > 6:
        raise ValueError(f"weekdays must be between 0 and 6, got {chosen}")
    found: list[date] = []
    monday = start - timedelta(days=start.weekday())
    while len(found) < count:
        for weekday in chosen:
            day = monday + timedelta(days=weekday)
            if day >= start and len(found) < count:
                found.append(day)
        monday += timedelta(weeks=every)
    return found


def monthly(start: date, count: int, every: int = 1) -> list[date]:
    """Return the same day of every n-th month, or the last one of months that are too short."""
    _check(count, every)
    return [add_months(start, every * index) for index in range(count)]


def monthly_on_weekday(start: date, count: int, weekday: int, n: int) -> list[date]:
    """Return the n-th weekday of each month from ``start`` on; months without it are skipped.

    Args:
        start: No date lies before it.
        count: How many dates to return.
        weekday: The day of the week, 0 for Monday.
        n: 1 to 5, or -1 to -5 from the end of the month.

    Returns:
        The dates in order.

    Raises:
        ValueError: A number makes no sense.
    """
    _check(count, 1)
    if n == 0 or abs(n) > 5:
        raise ValueError(f"n must be 1 to 5 or -1 to -5, got {n}")
    found: list[date] = []
    month = start.replace(day=1)
    while len(found) < count:
        try:
            day = nth_weekday(month.year, month.month, weekday, n)
        except ValueError:
            day = None
        if day is not None and day >= start:
            found.append(day)
        month = add_months(month, 1)
    return found


def yearly(start: date, count: int, every: int = 1) -> list[date]:
    """Return the same day of every n-th year; the 29th of February becomes the 28th if need be."""
    _check(count, every)
    return [add_years(start, every * index) for index in range(count)]
