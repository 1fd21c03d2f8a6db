"""Days on which work is done."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from workcal.dates import SATURDAY, SUNDAY
from workcal.ranges import DateRange


class WorkCalendar:
    """Which days are workdays.

    Args:
        holidays: Days off.
        weekend: The days of the week that are off, 0 for Monday.
        extra: Days on which work is done although they are off otherwise.

    Raises:
        ValueError: No day of the week is left to work on.
    """

    def __init__(
        self,
        holidays: Iterable[date] = (),
        weekend: Iterable[int] = (SATURDAY, SUNDAY),
        extra: Iterable[date] = (),
    ) -> None:
        self.holidays = frozenset(holidays)
        self.weekend = frozenset(weekend)
        self.extra = frozenset(extra)
        if len(self.weekend) >= 7:
            raise ValueError("at least one day of the week must be a workday")

    def is_workday(self, day: date) -> bool:
        """Say whether a day is a workday."""
        if day in self.extra:
            return True
        return day.weekday() not in self.weekend and day not in self.holidays

    def add(self, day: date, workdays: int) -> date:
        """Return the workday so many workdays later, or earlier for a negative number.

        Zero gives the day itself if it is a workday, else the next one.
        """
        if workdays == 0:
            return self.on_or_after(day)
        step = timedelta(days=1 if workdays > 0 else -1)
        left = abs(workdays)
        while left:
            day += step
            if self.is_workday(day):
                left -= 1
        return day

    def on_or_after(self, day: date) -> date:
        """Return a day if it is a workday, else the next workday."""
        while not self.is_workday(day):
            day += timedelta(days=1)
        return day

    def on_or_before(self, day: date) -> date:
        """Return a day if it is a workday, else the workday before it."""
        while not self.is_workday(day):
            day -= timedelta(days=1)
        return day

    def nearest(self, day: date) -> date:
        """Return the workday that is nearest to a day; of two the earlier one."""
        before, after = self.on_or_before(day), self.on_or_after(day)
        return before if day - before <= after - day else after

    def count(self, days: DateRange) -> int:
        """Return the number of workdays in a range."""
        return sum(self.is_workday(day) for day in days)

    def workdays(self, days: DateRange) -> list[date]:
        """Return the workdays of a range."""
        return [day for day in days if self.is_workday(day)]

    def breaks(self, days: DateRange, at_least: int = 3) -> list[DateRange]:
        """Return the runs of days off in a range that are at least so long."""
        found = []
        start: date | None = None
        for day in days:
            if self.is_workday(day):
                start = None
                continue
            start = start or day
            is_end = day == days.end or self.is_workday(day + timedelta(days=1))
            if is_end and (day - start).days + 1 >= at_least:
                found.append(DateRange(start, day))
        return found
