"""The units of time and their names."""

from __future__ import annotations

from typing import NamedTuple


class DurationError(ValueError):
    """A text is not a duration, or a unit is unknown."""


class Unit(NamedTuple):
    """A unit of time.

    Attributes:
        name: Its name in the singular.
        short: Its short form.
        length: Its length in milliseconds.
        aliases: Further words for it.
    """

    name: str
    short: str
    length: int
    aliases: tuple[str, ...] = ()


WEEK = Unit("week", "w", 604_800_000, ("wk", "wks"))
DAY = Unit("day", "d", 86_400_000)
HOUR = Unit("hour", "h", 3_600_000, ("hr", "hrs"))
MINUTE = Unit("minute", "m", 60_000, ("min", "mins"))
SECOND = Unit("second", "s", 1_000, ("sec", "secs"))
MILLISECOND = Unit("millisecond", "ms", 1, ("msec", "msecs"))

UNITS = (WEEK, DAY, HOUR, MINUTE, SECOND, MILLISECOND)
"""All units, the longest first."""


_WORDS = {
    word: unit
    for unit in UNITS
    for word in (unit.name, unit.name + "s", unit.short, *unit.aliases)
}
"""Every word for a unit, in lower case."""


def find_unit(word: str) -> Unit:
    """Return the unit that a word names: singular, plural, short form or alias, in any case."""
    try:
        return _WORDS[word.lower()]
    except KeyError:
        raise DurationError(f"{word!r} is not a unit of time") from None
