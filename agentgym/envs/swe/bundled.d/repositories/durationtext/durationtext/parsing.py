"""From text to milliseconds."""

from __future__ import annotations

import re
from fractions import Fraction

from durationtext.units import DAY, HOUR, MINUTE, SECOND, WEEK, DurationError, find_unit

_PART = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*([A-Za-z]+)\s*(,|and\b)?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d{2})(?:[.,](\d{1,3}))?", re.ASCII)
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?", re.A)


def parse(text: str) -> int:
    """Read a duration in any of the three notations.

    Args:
        text: ``1h 30m``, ``1:30:00`` or ``PT1H30M``.

    Returns:
        Its length in milliseconds.

    Raises:
        DurationError: The text is none of them.
    """
    _, body = _sign(text)
    if body[:1] in ("P", "p"):
        return parse_iso(text)
    return parse_clock(text) if ":" in body else parse_units(text)


def parse_units(text: str) -> int:
    """Read numbers with units, such as ``2 days, 3.5 hours`` or ``1h30m``.

    Each unit may occur once, the longer before the shorter.
    """
    sign, body = _sign(text)
    total = Fraction(0)
    position = 0
    shortest: int | None = None
    joined = False
    while position < len(body):
        match = _PART.match(body, position)
        if match is None:
            raise DurationError(f"{body[position:].strip()!r} is not a number with a unit")
        number, word, joint = match.groups()
        unit = find_unit(word)
        if shortest is not None and unit.length >= shortest:
            raise DurationError(f"{unit.name} follows a unit that is not longer in {text!r}")
        shortest = unit.length
        total += _number(number) * unit.length
        joined = joint is not None
        position = match.end()
    if shortest is None or joined:
        raise DurationError(f"{text!r} ends where a number with a unit should stand")
    return sign * _whole(total)


def parse_clock(text: str) -> int:
    """Read ``minutes:seconds`` or ``hours:minutes:seconds``, with up to three decimals.

    Only the first number may be larger than 59.
    """
    sign, body = _sign(text)
    match = _CLOCK.fullmatch(body)
    if match is None:
        raise DurationError(f"{text!r} is not a time of the form h:mm:ss")
    hours, minutes, seconds, decimals = match.groups()
    if int(seconds) > 59 or (hours is not None and (int(minutes) > 59 or len(minutes) != 2)):
        raise DurationError(f"minutes and seconds of {text!r} must be between 00 and 59")
    total = int(hours or 0) * HOUR.length + int(minutes) * MINUTE.length
    total += int(seconds) * SECOND.length
    return sign * (total + int((decimals or "0").ljust(3, "0")))


def parse_iso(text: str) -> int:
    """Read a duration of ISO 8601 without years and months, such as ``P1DT2H30M``."""
    sign, body = _sign(text)
    match = _ISO.fullmatch(body.upper())
    if match is None or body[-1:] in ("P", "p", "T", "t"):
        raise DurationError(f"{text!r} is not a duration of the form PnDTnHnMnS")
    weeks, days, _, hours, minutes, seconds = match.groups()
    total = _number(seconds or "0") * SECOND.length
    for number, unit in ((weeks, WEEK), (days, DAY), (hours, HOUR), (minutes, MINUTE)):
        total += int(number or 0) * unit.length
    return sign * _whole(total)


def _sign(text: str) -> tuple[int, str]:
    """Return the sign of a text and the text without it."""
    stripped = text.strip()
    if stripped[:1] in ("-", "+"):
        return (-1 if stripped[0] == "-" else 1), stripped[1:].strip()
    return 1, stripped


def _number(text: str) -> Fraction:
    """Return a decimal number, with a dot or a comma."""
    return Fraction(text.replace(",", "."))


def _whole(value: Fraction) -> int:
    """Round to whole milliseconds, halves up."""
    return int(value + Fraction(1, 2))
