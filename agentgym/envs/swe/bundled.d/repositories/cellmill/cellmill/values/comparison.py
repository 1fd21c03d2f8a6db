"""The order of values, and the criteria of functions such as COUNTIF."""

from __future__ import annotations

import re
from collections.abc import Callable

from cellmill.values.conversion import typed_value
from cellmill.values.kinds import ErrorValue, Failed, Value

OPERATORS = ("<=", ">=", "<>", "=", "<", ">")
"""Comparisons, those of two characters first."""


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 as one value comes before, with or behind another.

    Numbers come before texts, texts before truth values. Texts are compared without regard to
    capitals. An empty cell is equal to 0, to an empty text and to FALSE.

    Raises:
        Failed: One is an error.
    """
    for value in (left, right):
        if isinstance(value, ErrorValue):
            raise Failed(value)
    if left is None:
        left = blank_like(right)
    if right is None:
        right = blank_like(left)
    one, other = sort_key(left), sort_key(right)
    return (one > other) - (one < other)


def blank_like(other: Value) -> Value:
    """Return what an empty cell counts as beside another value."""
    if isinstance(other, str):
        return ""
    return False if isinstance(other, bool) else 0


def sort_key(value: Value) -> tuple[int, float, str]:
    """Return by what values of different kinds are sorted: empty cells come last."""
    if isinstance(value, bool):
        return 2, int(value), ""
    if isinstance(value, str):
        return 1, 0, value.casefold()
    if isinstance(value, ErrorValue):
        return 3, 0, value.value
    return (4, 0, "") if value is None else (0, value, "")


def holds(operator: str, left: Value, right: Value) -> bool:
    """Say whether a comparison holds; see :func:`compare`."""
    order = compare(left, right)
    if operator == "=":
        return order == 0
    if operator == "<>":
        return order != 0
    if operator == "<":
        return order < 0
    if operator == "<=":
        return order <= 0
    return order > 0 if operator == ">" else order >= 0


def criterion(wanted: Value) -> Callable[[Value], bool]:
    """Return what says whether a value is wanted.

    Args:
        wanted: A value to be equal to, or a text such as ``>=10``, ``<>tea`` or ``t*``, in which
            ``*`` stands for any characters, ``?`` for one, and ``~`` takes the meaning of the
            next.
    """
    if not isinstance(wanted, str):
        return lambda value: _same(value, 0 if wanted is None else wanted)
    operator = next((sign for sign in OPERATORS if wanted.startswith(sign)), "")
    operand = typed_value(wanted[len(operator) :])
    if operator in ("", "=", "<>"):
        equal = _equality(operand)
        return (lambda value: not equal(value)) if operator == "<>" else equal
    return lambda value: _ordered(operator, value, operand)


def _equality(operand: Value) -> Callable[[Value], bool]:
    if operand is None:
        return lambda value: value is None or value == ""
    if not isinstance(operand, str):
        return lambda value: _same(value, operand)
    pattern = re.compile(wildcard_pattern(operand), re.IGNORECASE | re.DOTALL)
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def wildcard_pattern(text: str) -> str:
    """Return the regular expression of a text with ``*``, ``?`` and ``~``."""
    pattern, place = "", 0
    while place < len(text):
        character = text[place]
        if character == "~" and text[place + 1 : place + 2] in ("*", "?", "~"):
            place += 1
            pattern += re.escape(text[place])
        elif character == "*":
            pattern += "" if pattern.endswith(".*") else ".*"
        else:
            pattern += "." if character == "?" else re.escape(character)
        place += 1
    return pattern


def _same(value: Value, wanted: Value) -> bool:
    """Say whether two values are of one kind and equal."""
    if value is None or isinstance(value, ErrorValue) or isinstance(wanted, ErrorValue):
        return value is wanted
    return sort_key(value) == sort_key(wanted)


def _ordered(operator: str, value: Value, operand: Value) -> bool:
    """Compare values of one kind only: an order between kinds is not wanted in criteria."""
    if value is None or operand is None or isinstance(value, ErrorValue):
        return False
    if sort_key(value)[0] != sort_key(operand)[0]:
        return False
    return holds(operator, value, operand)
