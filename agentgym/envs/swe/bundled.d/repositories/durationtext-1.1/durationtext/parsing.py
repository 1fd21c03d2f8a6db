"""From text to milliseconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from durationtext.units import DAY, HOUR, MINUTE, SECOND, WEEK, DurationError, Unit, find_unit

_PART = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*([A-Za-z]+)\s*(,|and\b)?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d{2})(?:[.,](\d{1,3}))?", re.ASCII)
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?", re.A)


_PLAIN = re.compile(r"\d+(?:[.,]\d+)?", re.ASCII)


def parse(text: str, unit: str | None = None) -> int:
    """Read a duration in any of the three notations.

    Args:
        text: ``1h 30m``, ``1:30:00`` or ``PT1H30M``.
        unit: The unit of a number that stands alone; ``None`` refuses such a number.

    Returns:
        Its length in milliseconds.

    Raises:
        DurationError: The text is none of them.
    """
    _, body = _sign(text)
    if body[:1] in ("P", "p"):
        return parse_iso(text)
    return parse_clock(text) if ":" in body else parse_units(text, unit)


def parse_units(text: str, unit: str | None = None) -> int:
    """Read numbers with units, such as ``2 days, 3.5 hours`` or ``1h30m``.

    Each unit may occur once, the longer before the shorter. A number alone has the given unit.
    """
    sign, body = _sign(text)
    if unit is not None and _PLAIN.fullmatch(body):
        return sign * _added([(body, find_unit(unit))])
    parts: list[tuple[str, Unit]] = []
    position = 0
    joined = False
    while position < len(body):
        match = _PART.match(body, position)
        if match is None:
            raise DurationError(f"{body[position:].strip()!r} is not a number with a unit")
        number, word, joint = match.groups()
        found = find_unit(word)
        if parts and found.length >= parts[-1][1].length:
            raise DurationError(f"{found.name} follows a unit that is not longer in {text!r}")
        parts.append((number, found))
        joined = joint is not None
        position = match.end()
    if not parts or joined:
        raise DurationError(f"{text!r} ends where a number with a unit should stand")
    return sign * _added(parts)


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
    exact = f"{seconds}.{decimals or 0}"
    return sign * _added([(hours, HOUR), (minutes, MINUTE), (exact, SECOND)])


def parse_iso(text: str) -> int:
    """Read a duration of ISO 8601 without years and months, such as ``P1DT2H30M``."""
    sign, body = _sign(text)
    match = _ISO.fullmatch(body.upper())
    if match is None or body[-1:] in ("P", "p", "T", "t"):
        raise DurationError(f"{text!r} is not a duration of the form PnDTnHnMnS")
    weeks, days, _, hours, minutes, seconds = match.groups()
    whole = [(weeks, WEEK), (days, DAY), (hours, HOUR), (minutes, MINUTE)]
    return sign * _added([*whole, (seconds, SECOND)])


def _sign(text: str) -> tuple[int, str]:
    """Return the sign of a text and the text without it."""
    stripped = text.strip()
    if stripped[:1] in ("-", "+"):
        return (-1 if stripped[0] == "-" else 1), stripped[1:].strip()
    return 1, stripped


def _added(parts: Sequence[tuple[str | None, Unit]]) -> int:
    """Add up numbers, with a dot or a comma, of units; round to whole milliseconds, halves up."""
    total = sum(
        (Fraction(number.replace(",", ".")) * unit.length for number, unit in parts if number),
        Fraction(0),
    )
    return int(total + Fraction(1, 2))
