"""Numbers as people read and write them."""

from __future__ import annotations

import re
from fractions import Fraction

from unitround.rounding import round_to

_DECIMAL = re.compile(r"(\d+(?:,\d{3})*)?(?:\.(\d+))?", re.ASCII)
_FRACTION = re.compile(r"(?:(\d+)\s+)?(\d+)\s*/\s*(\d+)", re.ASCII)


def parse_number(text: str) -> Fraction:
    """Read a number: ``12``, ``1,234.5``, ``.5``, ``3/4``, ``2 1/2``, ``40%``, with a sign.

    Raises:
        ValueError: The text is none of these, or a denominator is 0.
    """
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    if body[:1] in ("+", "-"):
        body = body[1:].lstrip()
    divisor = 1
    if body.endswith("%"):
        body, divisor = body[:-1].rstrip(), 100
    if match := _FRACTION.fullmatch(body):
        whole, numerator, denominator = match.groups()
        if int(denominator) == 0:
            raise ValueError(f"the denominator of {text!r} is 0")
        value = int(whole or 0) + Fraction(int(numerator), int(denominator))
    elif body and (match := _DECIMAL.fullmatch(body)):
        whole, decimals = match.groups()
        digits = (whole or "").replace(",", "") + (decimals or "")
        value = Fraction(int(digits), 10 ** len(decimals or ""))
    else:
        raise ValueError(f"{text!r} is not a number")
    return sign * value / divisor


def format_decimal(
    value: Fraction, decimals: int = 2, group: bool = False, trim: bool = False
) -> str:
    """Write a number with decimals, halves rounded up.

    Args:
        value: The number.
        decimals: How many.
        group: Whether to put commas between thousands.
        trim: Whether to leave zeros at the end of the decimals out.

    Returns:
        The text; what is rounded to zero has no sign.
    """
    scale = 10**decimals
    units = int(round_to(value, Fraction(1, scale)) * scale)
    whole, rest = divmod(abs(units), scale)
    text = f"{whole:,}" if group else str(whole)
    if decimals:
        text += f".{rest:0{decimals}d}"
        if trim:
            text = text.rstrip("0").rstrip(".")
    return "-" + text if units < 0 else text


def to_mixed(value: Fraction) -> str:
    """Write a number as a whole one and a fraction: ``2 3/4``, ``-1/2``, ``5``."""
    sign = "-" if value < 0 else ""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    if rest == 0:
        return f"{sign}{whole}"
    fraction = f"{rest}/{value.denominator}"
    return f"{sign}{whole} {fraction}" if whole else sign + fraction


def nearest_fraction(value: Fraction, most: int) -> Fraction:
    """Return the nearest fraction whose denominator is at most so large; the smaller on a tie.

    Raises:
        ValueError: ``most`` is less than 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    best = round_to(value, 1, "half_down")
    for denominator in range(2, most + 1):
        candidate = round_to(value, Fraction(1, denominator), "half_down")
        if abs(candidate - value) < abs(best - value):
            best = candidate
    return best
