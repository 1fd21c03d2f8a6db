"""Functions of groups of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pocketsql.engine.values import compare, distinct_key, number
from pocketsql.errors import DataError, SchemaError
from pocketsql.storage.types import Scalar, as_text, checked
from pocketsql.syntax.nodes import Call, Expression, walk

AGGREGATES = ("avg", "count", "group_concat", "max", "min", "sum")
"""The names of all of them."""


def is_aggregate(node: Expression) -> bool:
    """Say whether an expression is a call of one of them."""
    return isinstance(node, Call) and node.name in AGGREGATES


def has_aggregate(expression: Expression) -> bool:
    """Say whether one occurs in an expression."""
    return any(is_aggregate(node) for node in walk(expression))


def check_call(node: Call) -> None:
    """Refuse a malformed call.

    Raises:
        SchemaError: The number of arguments is wrong, or one is nested in another.
    """
    most = 2 if node.name == "group_concat" else 1
    if node.star and node.name != "count":
        raise SchemaError(f"{node.name.upper()}(*) means nothing")
    if not node.star and not 1 <= len(node.arguments) <= most:
        raise SchemaError(f"{node.name.upper()} does not take {len(node.arguments)} arguments")
    if any(has_aggregate(argument) for argument in node.arguments):
        raise SchemaError(f"{node.name.upper()} cannot hold another function of groups")


def aggregate(
    name: str, values: Sequence[Scalar], distinct: bool = False, separator: Scalar = ","
) -> Scalar:
    """Return what a function gives for a group; NULL does not count.

    Args:
        name: The function.
        values: The values of the group.
        distinct: Whether equal values count once.
        separator: What stands between the texts of ``group_concat``.

    Returns:
        The result; NULL if there is no value, but 0 for ``count``.

    Raises:
        DataError: A value has the wrong type, or the result is out of range.
    """
    found = [value for value in values if value is not None]
    if distinct:
        found = list({distinct_key(value): value for value in reversed(found)}.values())[::-1]
    if name == "count":
        return len(found)
    if not found:
        return None
    if name in ("min", "max"):
        return _extreme(found, 1 if name == "max" else -1)
    if name == "group_concat":
        if not isinstance(separator, str):
            raise DataError("GROUP_CONCAT needs a text as separator")
        return separator.join(as_text(value) for value in found)
    numbers = [number(value, name.upper()) for value in found]
    total = _total(numbers)
    return total if name == "sum" else float(total) / len(numbers)


def _extreme(values: Sequence[Scalar], sign: int) -> Scalar:
    best = values[0]
    for value in values[1:]:
        if (compare(value, best) or 0) * sign > 0:
            best = value
    return best


def _total(numbers: Sequence[int | float]) -> int | float:
    if all(isinstance(value, int) for value in numbers):
        return checked(sum(numbers))
    try:
        return checked(math.fsum(numbers))
    except OverflowError:
        raise DataError("number out of range") from None
