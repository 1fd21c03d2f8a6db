"""Comparison, arithmetic and patterns, with NULL as SQL wants it."""

from __future__ import annotations

import math
import re

from pocketsql.errors import DataError
from pocketsql.storage.types import Scalar, as_text, checked, type_of


def compare(left: Scalar, right: Scalar) -> int | None:
    """Return -1, 0 or 1 as one value is less than, equal to or greater than another.

    Returns:
        None if one is NULL.

    Raises:
        DataError: They are of types that cannot be compared.
    """
    if left is None or right is None:
        return None
    if family(left) != family(right):
        raise DataError(f"cannot compare {type_of(left)} with {type_of(right)}")
    return (left > right) - (left < right)  # type: ignore[operator]


def family(value: Scalar) -> str:
    """Return what values can be compared with: ``number``, ``TEXT``, ``BOOLEAN`` or ``NULL``."""
    found = type_of(value)
    return "number" if found in ("INTEGER", "REAL") else found


def holds(operator: str, left: Scalar, right: Scalar) -> bool | None:
    """Return whether a comparison holds; None if one side is NULL."""
    order = compare(left, right)
    if order is None:
        return None
    return {
        "=": order == 0,
        "<>": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]


def truth(value: Scalar, what: str) -> bool | None:
    """Return a value that has to be a truth value or NULL.

    Raises:
        DataError: It is something else.
    """
    if value is None or isinstance(value, bool):
        return value
    raise DataError(f"{what} has to be BOOLEAN, got {type_of(value)}")


def both(left: bool | None, right: bool | None) -> bool | None:
    """Return what AND gives: FALSE if one side is, else NULL if one side is."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(left: bool | None, right: bool | None) -> bool | None:
    """Return what OR gives: TRUE if one side is, else NULL if one side is."""
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def opposite(value: bool | None) -> bool | None:
    """Return what NOT gives."""
    return None if value is None else not value


def number(value: Scalar, what: str) -> int | float:
    """Return a value that has to be a number.

    Raises:
        DataError: It is something else.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise DataError(f"{what} needs numbers, got {type_of(value)}")


def arithmetic(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """Return a sum, difference, product, quotient or rest; whole numbers stay whole.

    Raises:
        DataError: A side is no number, the divisor is 0, or the result is out of range.
    """
    if left is None or right is None:
        return None
    one, other = number(left, operator), number(right, operator)
    if operator in ("/", "%"):
        if other == 0:
            raise DataError("division by zero")
        return checked(_divided(operator, one, other))
    try:
        if operator == "+":
            return checked(one + other)
        return checked(one - other if operator == "-" else one * other)
    except OverflowError:
        raise DataError("number out of range") from None


def _divided(operator: str, one: int | float, other: int | float) -> int | float:
    """Divide towards zero; a rest has the sign of what is divided."""
    if isinstance(one, int) and isinstance(other, int):
        quotient = abs(one) // abs(other)
        quotient = quotient if (one < 0) == (other < 0) else -quotient
        return quotient if operator == "/" else one - quotient * other
    return one / other if operator == "/" else math.fmod(one, other)


def joined(left: Scalar, right: Scalar) -> str | None:
    """Return two texts as one; NULL if one is NULL."""
    if left is None or right is None:
        return None
    return as_text(left) + as_text(right)


def matches(text: Scalar, pattern: Scalar, escape: Scalar = None) -> bool | None:
    """Say whether a text is like a pattern: ``%`` stands for anything, ``_`` for one character.

    Raises:
        DataError: A side is no text, or the character for escapes is malformed.
    """
    if text is None or pattern is None:
        return None
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise DataError(f"LIKE needs texts, got {type_of(text)} and {type_of(pattern)}")
    if escape is not None and (not isinstance(escape, str) or len(escape) != 1):
        raise DataError("ESCAPE needs one character")
    expression, place = "", 0
    while place < len(pattern):
        character = pattern[place]
        if character == escape:
            place += 1
            if place == len(pattern):
                raise DataError("the pattern ends with its escape character")
            expression += re.escape(pattern[place])
        elif character == "%":
            expression += "" if expression.endswith(".*") else ".*"
        else:
            expression += "." if character == "_" else re.escape(character)
        place += 1
    return re.fullmatch(expression, text, re.DOTALL) is not None


def distinct_key(value: Scalar) -> tuple[str, Scalar]:
    """Return by what values are told apart in groups: NULL is equal to NULL there."""
    return family(value), value
