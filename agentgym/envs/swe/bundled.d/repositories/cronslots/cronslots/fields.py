"""One field of a cron expression: what it may hold and which values it stands for."""

from __future__ import annotations

from dataclasses import dataclass

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class CronError(ValueError):
    """A cron expression is malformed."""


@dataclass(frozen=True)
class FieldKind:
    """What a field is about.

    Attributes:
        name: How messages call it.
        low: Its smallest value.
        high: Its largest value.
        names: Words for the values from ``low`` on.
    """

    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


MINUTE = FieldKind("minute", 0, 59)
HOUR = FieldKind("hour", 0, 23)
DAY = FieldKind("day of the month", 1, 31)
MONTH = FieldKind("month", 1, 12, MONTHS)
WEEKDAY = FieldKind("day of the week", 0, 7, WEEKDAYS)


@dataclass(frozen=True)
class Field:
    """The values of a field.

    Attributes:
        values: The values in ascending order; Sunday is 0.
        restricted: Whether the field says anything but ``*``.
        last: Whether the last day of the month belongs to it, whichever that is.
    """

    values: tuple[int, ...]
    restricted: bool
    last: bool = False

    def __contains__(self, value: object) -> bool:
        """Say whether a value belongs to the field."""
        return value in self.values


def parse_field(text: str, kind: FieldKind) -> Field:
    """Read a field.

    Args:
        text: The field.
        kind: What it is about.

    Returns:
        Its values.

    Raises:
        CronError: It is malformed or holds a value out of range.
    """
    values: set[int] = set()
    last = False
    for part in text.lower().split(","):
        if part == "l" and kind is DAY:
            last = True
        else:
            values.update(_parse_part(part, kind))
    if kind is WEEKDAY:
        values = {value % 7 for value in values}
    return Field(tuple(sorted(values)), restricted=text[:1] != "*", last=last)


def _parse_part(part: str, kind: FieldKind) -> range:
    """Return the values of ``*``, ``a``, ``a-b``, each with an optional ``/step``."""
    body, slash, step_text = part.partition("/")
    step = 1
    if slash:
        if not (step_text.isascii() and step_text.isdigit()) or int(step_text) < 1:
            raise CronError(f"{kind.name}: {step_text!r} is not a step")
        step = int(step_text)
    if body == "*":
        high = 6 if kind is WEEKDAY else kind.high
        return range(kind.low, high + 1, step)
    start_text, dash, end_text = body.partition("-")
    start = _parse_value(start_text, kind)
    if dash:
        end = _parse_value(end_text, kind)
        if kind is WEEKDAY and end == 0:
            end = 7
    else:
        end = kind.high if slash else start
    if end < start:
        raise CronError(f"{kind.name}: {body!r} runs backwards")
    return range(start, end + 1, step)


def _parse_value(text: str, kind: FieldKind) -> int:
    """Return a number, or what a name stands for."""
    if text in kind.names:
        return kind.names.index(text) + kind.low
    if not (text.isascii() and text.isdigit()):
        raise CronError(f"{kind.name}: {text!r} is not a value")
    value = int(text)
    if not kind.low <= value <= kind.high:
        raise CronError(f"{kind.name}: {value} is not between {kind.low} and {kind.high}")
    return value
