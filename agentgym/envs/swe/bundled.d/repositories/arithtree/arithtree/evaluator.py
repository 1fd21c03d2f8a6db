"""From a tree to its value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from arithtree.parser import parse
from arithtree.tree import Binary, Call, Name, Node, Number, Unary

Value = int | float
MAX_BITS = 4096
"""Whole results of powers may have so many bits; more would only fill the memory."""

OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}

FUNCTIONS: dict[str, tuple[int, int, Callable[..., Value]]] = {
    "abs": (1, 1, abs),
    "ceil": (1, 1, math.ceil),
    "floor": (1, 1, math.floor),
    "max": (1, 99, lambda *values: max(values)),
    "min": (1, 99, lambda *values: min(values)),
    "round": (1, 2, lambda value, digits=0: _round(value, digits)),
    "sqrt": (1, 1, math.sqrt),
}
"""For each function its fewest and most arguments and what it does."""


class EvaluationError(ArithmeticError):
    """An expression has no value."""


def evaluate(expression: str | Node, values: Mapping[str, Value] | None = None) -> Value:
    """Return the value of an expression.

    Whole numbers stay whole except under ``/`` and ``sqrt``.

    Args:
        expression: The text or the tree.
        values: The values of the variables.

    Returns:
        The value.

    Raises:
        ParseError: The text is not an expression.
        EvaluationError: A variable or a function is unknown, a number is divided by zero, or a
            result is not a real number or too large.
    """
    node = parse(expression) if isinstance(expression, str) else expression
    try:
        return _value(node, values or {})
    except ZeroDivisionError:
        raise EvaluationError("division by zero") from None
    except OverflowError:
        raise EvaluationError("a result is too large") from None


def _value(node: Node, values: Mapping[str, Value]) -> Value:
    """Return the value of a node."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Name):
        if node.name not in values:
            raise EvaluationError(f"the variable {node.name!r} has no value")
        return values[node.name]
    if isinstance(node, Unary):
        return -_value(node.operand, values)
    if isinstance(node, Binary):
        left, right = _value(node.left, values), _value(node.right, values)
        return (
            _power(left, right) if node.operator == "^" else OPERATIONS[node.operator](left, right)
        )
    return _call(node, values)


def _call(node: Call, values: Mapping[str, Value]) -> Value:
    """Return the value of a function; ``if`` evaluates only the branch that it takes."""
    count = len(node.arguments)
    if node.function == "if":
        if count != 3:
            raise EvaluationError(f"if takes 3 arguments, got {count}")
        condition, yes, no = node.arguments
        return _value(yes if _value(condition, values) else no, values)
    if node.function not in FUNCTIONS:
        raise EvaluationError(f"there is no function {node.function!r}")
    fewest, most, function = FUNCTIONS[node.function]
    if not fewest <= count <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise EvaluationError(f"{node.function} takes {wanted} arguments, got {count}")
    arguments = [_value(argument, values) for argument in node.arguments]
    if node.function == "sqrt" and arguments[0] < 0:
        raise EvaluationError("the square root of a negative number is not real")
    return function(*arguments)


def _power(base: Value, exponent: Value) -> Value:
    """Return a power."""
    if base < 0 and exponent != int(exponent):
        raise EvaluationError("a negative number to a broken power is not real")
    is_whole = isinstance(base, int) and isinstance(exponent, int)
    if is_whole and int(base).bit_length() * exponent > MAX_BITS:
        raise EvaluationError("a result is too large")
    return base**exponent


def _round(value: Value, digits: Value) -> Value:
    """Round to a number of digits, halves away from zero."""
    scale = 10 ** int(digits)
    rounded = math.floor(abs(value) * scale + 0.5) / scale
    result = rounded if value >= 0 else -rounded
    return int(result) if digits <= 0 else result
