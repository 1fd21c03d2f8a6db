"""From a tree to a value."""

from __future__ import annotations

import math
from collections.abc import Callable

from cellmill.addresses.areas import Area
from cellmill.formulas.nodes import (
    AreaNode,
    Binary,
    Call,
    CellNode,
    Constant,
    NameNode,
    Node,
    Percent,
    Unary,
)
from cellmill.functions.arithmetic import power
from cellmill.functions.registry import FUNCTIONS, Function
from cellmill.values.blocks import Argument, Block, scalar
from cellmill.values.comparison import OPERATORS, holds
from cellmill.values.conversion import checked_text, to_number
from cellmill.values.kinds import ErrorValue, Failed, Value, whole

Reader = Callable[[str, Area], Block]
"""Gives the values of an area of a sheet; Failed if there is no such sheet."""
Names = Callable[[str], "tuple[str, Area]"]
"""Gives sheet and area of a name; Failed if it is not defined."""


class Evaluator:
    """Computes formulas.

    Args:
        read: Gives the values of areas.
        look_up: Gives the area of a name.
    """

    def __init__(self, read: Reader, look_up: Names) -> None:
        self._read = read
        self._look_up = look_up

    def result(self, node: Node) -> Value:
        """Return the value of a formula; what goes wrong in it becomes an error value."""
        try:
            value = scalar(self._value(node))
            return 0 if value is None else value
        except Failed as failure:
            return failure.error

    def _value(self, node: Node) -> Argument:
        """Return what a node gives.

        Raises:
            Failed: It gives an error.
        """
        if isinstance(node, Constant):
            return node.value
        if isinstance(node, CellNode):
            return self._read(node.sheet, node.area).at(0, 0)
        if isinstance(node, AreaNode):
            return self._read(node.sheet, node.area)
        if isinstance(node, NameNode):
            return self._read(*self._look_up(node.name))
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Binary):
            return self._binary(node)
        number = to_number(scalar(self._value(node.operand)))
        if isinstance(node, Percent):
            return whole(number / 100)
        assert isinstance(node, Unary)
        return -number if node.operator == "-" else number

    def _binary(self, node: Binary) -> Value:
        left = _sound(self._value(node.left))
        right = _sound(self._value(node.right))
        if node.operator in OPERATORS:
            return holds(node.operator, left, right)
        if node.operator == "&":
            return checked_text(left) + checked_text(right)
        return scalar(_checked(_arithmetic, node.operator, to_number(left), to_number(right)))

    def _call(self, node: Call) -> Argument:
        known = FUNCTIONS.get(node.function)
        if known is None:
            raise Failed(ErrorValue.NAME)
        if known.takes == "thunks":
            thunks = [lambda argument=argument: self._argument(argument)
                      for argument in node.arguments]  # fmt: skip
            return _checked(known.body, *thunks)
        arguments = [self._argument(argument) for argument in node.arguments]
        return _checked(known.body, *_prepared(known, arguments))

    def _argument(self, node: Node | None) -> Argument:
        """Return the value of an argument; a cell that stands alone is an area of one cell."""
        if node is None:
            return None
        if isinstance(node, CellNode):
            return self._read(node.sheet, node.area)
        return self._value(node)


def _prepared(known: Function, arguments: list[Argument]) -> list[Argument]:
    """Return the arguments as a function gets them."""
    if known.takes == "blocks":
        return arguments
    return [_sound(argument) for argument in arguments]


def _sound(argument: Argument) -> Value:
    """Return an argument as one value that is no error.

    Raises:
        Failed: It is an error, or an area of several cells.
    """
    value = scalar(argument)
    if isinstance(value, ErrorValue):
        raise Failed(value)
    return value


def _checked(body: Callable[..., Argument], *arguments: object) -> Argument:
    """Call a function; numbers that are too large become an error, floats whole if they are.

    Raises:
        Failed: It gives an error.
    """
    try:
        result = body(*arguments)
    except (OverflowError, ArithmeticError):
        raise Failed(ErrorValue.NUM) from None
    if isinstance(result, bool) or not isinstance(result, (int, float)):
        return result
    try:
        number = float(result)
    except OverflowError:
        raise Failed(ErrorValue.NUM) from None
    if not math.isfinite(number):
        raise Failed(ErrorValue.NUM)
    return whole(number)


def _arithmetic(operator: str, left: float, right: float) -> float:
    one, other = float(left), float(right)
    if operator == "+":
        return one + other
    if operator == "-":
        return one - other
    if operator == "*":
        return one * other
    if operator == "^":
        return power(one, other)
    if other == 0:
        raise Failed(ErrorValue.DIV0)
    return one / other
