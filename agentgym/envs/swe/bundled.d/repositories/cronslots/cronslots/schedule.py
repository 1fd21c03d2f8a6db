"""Schedules: when an expression fires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from cronslots.days import cron_weekday, month_length
from cronslots.fields import DAY, HOUR, MINUTE, MONTH, WEEKDAY, CronError, Field, parse_field

SHORTHANDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
HORIZON_YEARS = 8
"""Between two 29ths of February lie at most so many years; what fires at all fires within them."""


@dataclass(frozen=True)
class Schedule:
    """The times at which something happens, to the minute.

    Attributes:
        minute: The minutes.
        hour: The hours.
        day: The days of the month.
        month: The months.
        weekday: The days of the week.
    """

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a cron expression of five fields, or a shorthand such as ``@daily``.

        Raises:
            CronError: The expression is malformed.
        """
        stripped = text.strip().lower()
        if stripped.startswith("@"):
            if stripped not in SHORTHANDS:
                raise CronError(f"{text!r} is none of {', '.join(SHORTHANDS)}")
            stripped = SHORTHANDS[stripped]
        parts = stripped.split()
        if len(parts) != 5:
            raise CronError(f"expected 5 fields, got {len(parts)}")
        kinds = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
        return cls(*(parse_field(part, kind) for part, kind in zip(parts, kinds, strict=True)))

    def matches_day(self, day: date) -> bool:
        """Say whether the schedule fires on a day."""
        if day.month not in self.month:
            return False
        is_last = day.day == month_length(day.year, day.month)
        by_month = day.day in self.day or (self.day.last and is_last)
        by_week = cron_weekday(day) in self.weekday
        if self.day.restricted and self.weekday.restricted:
            return by_month or by_week
        return by_month and by_week

    def matches(self, moment: datetime) -> bool:
        """Say whether the schedule fires in the minute of a moment."""
        in_time = moment.minute in self.minute and moment.hour in self.hour
        return in_time and self.matches_day(moment.date())

    def times(self) -> list[time]:
        """Return the times of a day at which the schedule fires, the earliest first."""
        return [time(hour, minute) for hour in self.hour.values for minute in self.minute.values]

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first time strictly after a moment, or None if it never fires again."""
        times = self.times()
        day = moment.date()
        for at in times:
            candidate = datetime.combine(day, at)
            if candidate > moment and self.matches_day(day):
                return candidate
        for later in _days(day, 1):
            if self.matches_day(later):
                return datetime.combine(later, times[0])
        return None

    def last_before(self, moment: datetime) -> datetime | None:
        """Return the last time strictly before a moment, or None if there was none."""
        times = self.times()
        day = moment.date()
        for at in reversed(times):
            candidate = datetime.combine(day, at)
            if candidate < moment and self.matches_day(day):
                return candidate
        for earlier in _days(day, -1):
            if self.matches_day(earlier):
                return datetime.combine(earlier, times[-1])
        return None

    def upcoming(self, moment: datetime, count: int) -> list[datetime]:
        """Return the next times after a moment, at most ``count``."""
        found: list[datetime] = []
        while len(found) < count:
            following = self.next_after(moment)
            if following is None:
                break
            found.append(following)
            moment = following
        return found

    def count_between(self, start: datetime, end: datetime) -> int:
        """Return how often the schedule fires from ``start`` on and before ``end``."""
        total = 0
        day = start.date()
        while day <= end.date():
            if self.matches_day(day):
                moments = [datetime.combine(day, at) for at in self.times()]
                total += sum(start <= moment < end for moment in moments)
            day += timedelta(days=1)
        return total


def _days(start: date, direction: int) -> Iterator[date]:
    """Yield the days after (1) or before (-1) a day, within the horizon and the calendar."""
    day = start
    for _ in range(HORIZON_YEARS * 366):
        try:
            day += timedelta(days=direction)
        except OverflowError:
            return
        yield day
