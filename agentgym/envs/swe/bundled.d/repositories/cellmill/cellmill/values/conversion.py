"""From one kind of value to another, and from what a user types to a value."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from cellmill.values.kinds import ErrorValue, Failed, Value, whole

_TYPED = re.compile(
    r"([+-]?)((?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(%?)"
)


def typed_value(text: str) -> Value:
    """Return what is meant by a text that is typed into a cell and is no formula.

    Numbers may have commas between thousands, an exponent and a percent sign. An apostrophe
    before it makes anything a text.
    """
    stripped = text.strip()
    if not stripped:
        return None
    if stripped.startswith("'"):
        return stripped[1:]
    if stripped.upper() in ("TRUE", "FALSE"):
        return stripped.upper() == "TRUE"
    if stripped.upper() in (error.value for error in ErrorValue):
        return ErrorValue(stripped.upper())
    number = _typed_number(stripped)
    return text if number is None else number


def _typed_number(text: str) -> float | None:
    match = _TYPED.fullmatch(text)
    if match is None:
        return None
    sign, digits, percent = match.groups()
    value = float(digits.replace(",", ""))
    if math.isinf(value):
        return None
    value = value / 100 if percent else value
    return whole(-value if sign == "-" else value)


def to_number(value: Value) -> float:
    """Return a value as a number; empty cells count as 0, texts are read.

    Raises:
        Failed: It is an error, or a text that is no number.
    """
    if isinstance(value, ErrorValue):
        raise Failed(value)
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        number = _typed_number(value.strip())
        if number is None:
            raise Failed(ErrorValue.VALUE)
        return number
    return value


def to_whole(value: Value) -> int:
    """Return a value as a whole number, cut towards zero."""
    return int(to_number(value))


def to_text(value: Value) -> str:
    """Return a value as a text, as it is shown without a format."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return _float_text(value)
    return str(value)


def checked_text(value: Value) -> str:
    """Return a value as a text; an error is raised.

    Raises:
        Failed: It is an error.
    """
    if isinstance(value, ErrorValue):
        raise Failed(value)
    return to_text(value)


def _float_text(number: float) -> str:
    """Return a number with at most ten significant digits."""
    if number == 0:
        return "0"
    if 1e-6 <= abs(number) < 1e15:
        text = format(Decimal(f"{number:.10g}"), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{number:.9e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}E{int(exponent):+d}"


def to_truth(value: Value) -> bool:
    """Return a value as a truth value; numbers other than 0 are true.

    Raises:
        Failed: It is an error, or a text other than TRUE and FALSE.
    """
    if isinstance(value, str):
        if value.upper() not in ("TRUE", "FALSE"):
            raise Failed(ErrorValue.VALUE)
        return value.upper() == "TRUE"
    return bool(to_number(value))
