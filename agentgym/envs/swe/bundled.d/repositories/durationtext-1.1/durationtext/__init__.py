"""Read, write and round lengths of time."""

from durationtext.arithmetic import ceil_to, floor_to, round_to, split
from durationtext.formatting import format_clock, format_iso, format_short, format_words
from durationtext.parsing import parse, parse_clock, parse_iso, parse_units
from durationtext.units import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK, DurationError, Unit

__all__ = [
    "DAY",
    "HOUR",
    "MILLISECOND",
    "MINUTE",
    "SECOND",
    "WEEK",
    "DurationError",
    "Unit",
    "ceil_to",
    "floor_to",
    "format_clock",
    "format_iso",
    "format_short",
    "format_words",
    "parse",
    "parse_clock",
    "parse_iso",
    "parse_units",
    "round_to",
    "split",
]
