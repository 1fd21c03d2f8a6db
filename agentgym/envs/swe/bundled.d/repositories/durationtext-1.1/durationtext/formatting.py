"""From milliseconds to text."""

from __future__ import annotations

from durationtext.arithmetic import split
from durationtext.units import DAY, HOUR, MILLISECOND, MINUTE, SECOND, UNITS, DurationError


def format_words(milliseconds: int, most: int = len(UNITS), joint: str = " ") -> str:
    """Write a duration in words, such as ``1 hour 30 minutes``.

    Args:
        milliseconds: The duration.
        most: How many units to name at most, from the longest on; the rest is cut off.
        joint: What stands between two units.

    Returns:
        The text; ``0 seconds`` for nothing.

    Raises:
        DurationError: ``most`` is less than 1.
    """
    if most < 1:
        raise DurationError(f"most must be at least 1, got {most}")
    parts = [
        f"{number} {unit.name}" + ("" if number == 1 else "s")
        for number, unit in split(abs(milliseconds))[:most]
    ]
    sign = "minus " if milliseconds < 0 else ""
    return sign + joint.join(parts) if parts else "0 seconds"


def format_short(milliseconds: int) -> str:
    """Write a duration with short units, such as ``1h30m``."""
    text = "".join(f"{number}{unit.short}" for number, unit in split(abs(milliseconds)))
    sign = "-" if milliseconds < 0 else ""
    return sign + text if text else "0s"


def format_clock(milliseconds: int, always_hours: bool = False) -> str:
    """Write a duration as ``h:mm:ss`` or ``m:ss``, with decimals if there are any.

    Args:
        milliseconds: The duration.
        always_hours: Whether to write the hours even if there are none.

    Returns:
        The text.
    """
    rest = abs(milliseconds)
    hours, rest = divmod(rest, HOUR.length)
    minutes, rest = divmod(rest, MINUTE.length)
    seconds, decimals = divmod(rest, SECOND.length)
    if hours or always_hours:
        text = f"{hours}:{minutes:02d}:{seconds:02d}"
    else:
        text = f"{minutes}:{seconds:02d}"
    if decimals:
        text += f".{decimals:03d}"
    return "-" + text if milliseconds < 0 else text


def format_iso(milliseconds: int) -> str:
    """Write a duration as ISO 8601 does, such as ``P1DT2H0.5S``; nothing is ``PT0S``."""
    parts = split(abs(milliseconds), (DAY, HOUR, MINUTE, SECOND, MILLISECOND))
    numbers = {unit.short: number for number, unit in parts}
    days = f"{numbers['d']}D" if "d" in numbers else ""
    clock = "".join(f"{numbers[short]}{short.upper()}" for short in "hm" if short in numbers)
    if "s" in numbers or "ms" in numbers:
        seconds = str(numbers.get("s", 0))
        if "ms" in numbers:
            seconds += f".{numbers['ms']:03d}".rstrip("0")
        clock += seconds + "S"
    sign = "-" if milliseconds < 0 else ""
    if not days and not clock:
        return "PT0S"
    return f"{sign}P{days}" + (f"T{clock}" if clock else "")
