"""Sums, rounding, powers."""

from __future__ import annotations

import math
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_UP,
    ROUND_UP,
    Context,
    Decimal,
)

from cellmill.functions.gathering import is_number, matching, numbers, numbers_at
from cellmill.functions.registry import function
from cellmill.values.blocks import Argument, as_block
from cellmill.values.conversion import to_number, to_whole
from cellmill.values.kinds import ErrorValue, Failed, Value

_EXACT = Context(prec=700)


@function("SUM", 1, None, takes="blocks")
def _sum(*arguments: Argument) -> float:
    return math.fsum(numbers(arguments))


@function("PRODUCT", 1, None, takes="blocks")
def _product(*arguments: Argument) -> float:
    found = [float(number) for number in numbers(arguments)]
    return math.prod(found) if found else 0


@function("SUMPRODUCT", 1, None, takes="blocks")
def _sum_of_products(*arguments: Argument) -> float:
    """Multiply areas cell by cell; what is no number counts as 0."""
    blocks = [as_block(argument) for argument in arguments]
    if len({(block.height, block.width) for block in blocks}) > 1:
        raise Failed(ErrorValue.VALUE)
    products = []
    for place, _ in blocks[0].filled():
        factors = [block.at(*place) for block in blocks]
        for factor in factors:
            if isinstance(factor, ErrorValue):
                raise Failed(factor)
        if all(is_number(factor) for factor in factors):
            products.append(math.prod(float(to_number(factor)) for factor in factors))
    return math.fsum(products)


@function("SUMIF", 2, 3, takes="blocks")
def _sum_if(area: Argument, wanted: Argument, summed: Argument = None) -> float:
    places = matching([area, wanted])
    return math.fsum(numbers_at(as_block(area if summed is None else summed), places))


@function("SUMIFS", 3, None, takes="blocks")
def _sum_ifs(summed: Argument, *pairs: Argument) -> float:
    places = matching(pairs)
    block, first = as_block(summed), as_block(pairs[0])
    if (block.height, block.width) != (first.height, first.width):
        raise Failed(ErrorValue.VALUE)
    return math.fsum(numbers_at(block, places))


@function("ABS", 1)
def _absolute(value: Value) -> float:
    return abs(to_number(value))


@function("SIGN", 1)
def _sign(value: Value) -> int:
    number = to_number(value)
    return (number > 0) - (number < 0)


@function("INT", 1)
def _floor(value: Value) -> int:
    return math.floor(to_number(value))


@function("ROUND", 1, 2)
def _round(value: Value, digits: Value = 0) -> float:
    return rounded(to_number(value), to_whole(digits), ROUND_HALF_UP)


@function("ROUNDUP", 1, 2)
def _round_up(value: Value, digits: Value = 0) -> float:
    return rounded(to_number(value), to_whole(digits), ROUND_UP)


@function("ROUNDDOWN", 1, 2)
def _round_down(value: Value, digits: Value = 0) -> float:
    return rounded(to_number(value), to_whole(digits), ROUND_DOWN)


def rounded(number: float, digits: int, how: str) -> float:
    """Return a number rounded in decimals, as it is written; digits may be negative."""
    step = Decimal(1).scaleb(-max(-330, min(330, digits)))
    exact = Decimal(repr(number))
    if exact.as_tuple().exponent >= step.as_tuple().exponent:  # type: ignore[operator]
        return number
    return float((exact / step).quantize(Decimal(1), how, _EXACT) * step)


@function("CEILING", 1, 2)
def _ceiling(value: Value, step: Value = 1) -> float:
    return _to_multiple(to_number(value), to_number(step), ROUND_CEILING)


@function("FLOOR", 1, 2)
def _to_floor(value: Value, step: Value = 1) -> float:
    return _to_multiple(to_number(value), to_number(step), ROUND_FLOOR)


def _to_multiple(number: float, step: float, how: str) -> float:
    """Return the next multiple of a step; its sign does not matter."""
    if step == 0:
        return 0
    size = abs(Decimal(repr(step)))
    count = _EXACT.divide(Decimal(repr(number)), size).quantize(Decimal(1), how, _EXACT)
    return float(_EXACT.multiply(count, size))


@function("MOD", 2)
def _modulo(value: Value, divisor: Value) -> float:
    """Return the rest of a division; it has the sign of the divisor."""
    number, by = to_number(value), to_number(divisor)
    if by == 0:
        raise Failed(ErrorValue.DIV0)
    return number % by


@function("QUOTIENT", 2)
def _quotient(value: Value, divisor: Value) -> int:
    number, by = to_number(value), to_number(divisor)
    if by == 0:
        raise Failed(ErrorValue.DIV0)
    return math.trunc(number / by)


@function("POWER", 2)
def _power(base: Value, exponent: Value) -> float:
    return power(to_number(base), to_number(exponent))


def power(base: float, exponent: float) -> float:
    """Return a power.

    Raises:
        Failed: It is no real number.
    """
    if base == 0 and exponent <= 0:
        raise Failed(ErrorValue.NUM if exponent == 0 else ErrorValue.DIV0)
    result = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise Failed(ErrorValue.NUM)
    return result


@function("SQRT", 1)
def _root(value: Value) -> float:
    return power(to_number(value), 0.5) if to_number(value) else 0


@function("EXP", 1)
def _exponential(value: Value) -> float:
    return math.exp(to_number(value))


@function("LN", 1)
def _natural_logarithm(value: Value) -> float:
    return _logarithm(value, math.e)


@function("LOG", 1, 2)
def _logarithm(value: Value, base: Value = 10) -> float:
    number, of = to_number(value), to_number(base)
    if number <= 0 or of <= 0:
        raise Failed(ErrorValue.NUM)
    if of == 1:
        raise Failed(ErrorValue.DIV0)
    if of in (2, 10):
        return math.log10(number) if of == 10 else math.log2(number)
    return math.log(number) / math.log(of)


@function("GCD", 1, None, takes="blocks")
def _greatest_divisor(*arguments: Argument) -> int:
    return math.gcd(*_naturals(arguments))


@function("LCM", 1, None, takes="blocks")
def _least_multiple(*arguments: Argument) -> int:
    return math.lcm(*_naturals(arguments))


def _naturals(arguments: tuple[Argument, ...]) -> list[int]:
    """Return the numbers among arguments, cut to whole ones."""
    found = [int(number) for number in numbers(arguments)]
    if any(number < 0 for number in found):
        raise Failed(ErrorValue.NUM)
    return found
