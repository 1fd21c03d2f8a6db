"""Roman numerals from 1 to 3999."""

from __future__ import annotations

from wordnumerals.errors import NumeralError

LARGEST = 3999
_SIGNS = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)
_VALUES = {sign: value for value, sign in _SIGNS if len(sign) == 1}


def to_roman(number: int) -> str:
    """Write a number as a Roman numeral.

    Raises:
        NumeralError: It is not between 1 and 3999.
    """
    if not 1 <= number <= LARGEST:
        raise NumeralError(f"Roman numerals go from 1 to {LARGEST}, got {number}")
    parts = []
    for value, sign in _SIGNS:
        count, number = divmod(number, value)
        parts.append(sign * count)
    return "".join(parts)


def from_roman(text: str, strict: bool = True) -> int:
    """Read a Roman numeral in upper or lower case.

    Args:
        text: The numeral.
        strict: Whether to refuse unusual forms such as ``IIII`` and ``IM``.

    Returns:
        The number.

    Raises:
        NumeralError: The text is no numeral, or an unusual one.
    """
    signs = text.strip().upper()
    if not signs:
        raise NumeralError("an empty text is not a Roman numeral")
    total = 0
    largest = 0
    for sign in reversed(signs):
        if sign not in _VALUES:
            raise NumeralError(f"{sign!r} is not a Roman digit")
        value = _VALUES[sign]
        if value < largest:
            total -= value
        else:
            total += value
            largest = value
    if strict and (not 1 <= total <= LARGEST or to_roman(total) != signs):
        raise NumeralError(f"{text!r} is not a usual Roman numeral")
    return total


def is_roman(text: str) -> bool:
    """Say whether a text is a usual Roman numeral."""
    try:
        from_roman(text)
    except NumeralError:
        return False
    return True
