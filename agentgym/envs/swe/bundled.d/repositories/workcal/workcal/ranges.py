"""Ranges of dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from workcal.dates import add_months, days_in_month, end_of_month

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, order=True)
class DateRange:
    """All days from one day to another, both included.

    Attributes:
        start: The first day.
        end: The last day.

    Raises:
        ValueError: The end lies before the start.
    """

    start: date
    end: date

    def __post_init__(self) -> None:
        """Refuse a range that runs backwards."""
        if self.end < self.start:
            raise ValueError(f"the end {self.end} lies before the start {self.start}")

    @classmethod
    def of_month(cls, year: int, month: int) -> DateRange:
        """Return the days of a month."""
        return cls(date(year, month, 1), date(year, month, days_in_month(year, month)))

    @classmethod
    def of_quarter(cls, year: int, quarter: int) -> DateRange:
        """Return the days of a quarter of a year, 1 to 4."""
        start = date(year, 3 * quarter - 2, 1)
        return cls(start, end_of_month(add_months(start, 2)))

    @classmethod
    def of_year(cls, year: int) -> DateRange:
        """Return the days of a year."""
        return cls(date(year, 1, 1), date(year, 12, 31))

    @classmethod
    def of_week(cls, day: date) -> DateRange:
        """Return the days from Monday to Sunday of the week in which a day lies."""
        monday = day - timedelta(days=day.weekday())
        return cls(monday, monday + timedelta(days=6))

    def __len__(self) -> int:
        """Return the number of days."""
        return (self.end - self.start).days + 1

    def __iter__(self) -> Iterator[date]:
        """Yield the days in order."""
        for offset in range(len(self)):
            yield self.start + timedelta(days=offset)

    def __contains__(self, day: object) -> bool:
        """Say whether a day lies in the range."""
        return isinstance(day, date) and self.start <= day <= self.end

    def overlaps(self, other: DateRange) -> bool:
        """Say whether the ranges share a day."""
        return self.start <= other.end and other.start <= self.end

    def intersection(self, other: DateRange) -> DateRange | None:
        """Return the days that are in both ranges, or None."""
        if not self.overlaps(other):
            return None
        return DateRange(max(self.start, other.start), min(self.end, other.end))

    def touches(self, other: DateRange) -> bool:
        """Say whether the ranges share a day or follow each other without a gap."""
        return self.start <= other.end + ONE_DAY and other.start <= self.end + ONE_DAY

    def union(self, other: DateRange) -> DateRange:
        """Return the days of both ranges; ValueError if there is a gap between them."""
        if not self.touches(other):
            raise ValueError(f"there is a gap between {self} and {other}")
        return DateRange(min(self.start, other.start), max(self.end, other.end))

    def shift(self, days: int) -> DateRange:
        """Return the range so many days later."""
        step = timedelta(days=days)
        return DateRange(self.start + step, self.end + step)

    def by_month(self) -> list[DateRange]:
        """Return the parts of the range that lie in one month each."""
        parts = []
        start = self.start
        while start <= self.end:
            end = min(end_of_month(start), self.end)
            parts.append(DateRange(start, end))
            start = end + ONE_DAY
        return parts

    def __str__(self) -> str:
        """Return the first and the last day."""
        return f"{self.start}..{self.end}"
