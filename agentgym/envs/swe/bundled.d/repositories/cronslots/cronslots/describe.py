"""Schedules in words."""

from __future__ import annotations

from cronslots.fields import Field
from cronslots.schedule import Schedule

MONTH_NAMES = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
WORKDAYS = (1, 2, 3, 4, 5)


def describe(schedule: Schedule) -> str:
    """Return what a schedule says in English.

    Args:
        schedule: The schedule.

    Returns:
        A phrase such as ``at 09:30 on Monday and Friday in May``.
    """
    parts = [_time(schedule), _days(schedule)]
    if schedule.month.restricted:
        parts.append(
            "in " + _enumerate([MONTH_NAMES[value - 1] for value in schedule.month.values])
        )
    return " ".join(parts)


def _time(schedule: Schedule) -> str:
    """Return the part about minute and hour."""
    minutes, hours = schedule.minute, schedule.hour
    if not minutes.restricted and len(minutes.values) == 60:
        when = "every minute"
    elif not hours.restricted:
        when = f"at minute {_minutes(minutes)}"
    elif len(minutes.values) * len(hours.values) <= 4:
        return "at " + _enumerate([f"{at:%H:%M}" for at in schedule.times()])
    else:
        when = f"at minute {_minutes(minutes)}"
    if hours.restricted:
        return f"{when} past hour {_enumerate([str(value) for value in hours.values])}"
    return f"{when} of every hour" if when != "every minute" else when


def _minutes(field: Field) -> str:
    """Return the minutes in two digits each."""
    return _enumerate([f"{value:02d}" for value in field.values])


def _days(schedule: Schedule) -> str:
    """Return the part about days."""
    in_month = _days_of_month(schedule.day)
    in_week = _days_of_week(schedule.weekday)
    if schedule.day.restricted and schedule.weekday.restricted:
        return f"{in_month} or {in_week}"
    if schedule.day.restricted:
        return in_month
    return in_week if schedule.weekday.restricted else "every day"


def _days_of_month(field: Field) -> str:
    """Return the days of the month in words."""
    words = [
        f"day {value}" if not index else str(value) for index, value in enumerate(field.values)
    ]
    if field.last:
        words.append("the last day")
    return f"on {_enumerate(words)} of the month"


def _days_of_week(field: Field) -> str:
    """Return the days of the week in words."""
    if field.values == WORKDAYS:
        return "on workdays"
    return "on " + _enumerate([DAY_NAMES[value] for value in field.values])


def _enumerate(words: list[str]) -> str:
    """Join words with commas and a last ``and``."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
