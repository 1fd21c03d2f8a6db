"""Exact rational arithmetic on trees, bounded in time for any text.

Every number is a fraction; results with more than `MOST_BITS` bits are refused before they are
calculated, and so are irrational ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from agentgym.envs.mathpython.engine.parser import expression
from agentgym.envs.mathpython.engine.tree import Call, Node, Number, Operation, Unreadable

MOST_BITS = 4096
"""Most bits of a numerator or denominator: more than 1,200 digits."""
LARGEST_COUNT = 1000
"""Largest argument of a factorial or a binomial coefficient."""


class NotRational(ValueError):
    """A tree is not a rational number, or is too large; the message says why."""


def calculated(text: str) -> Fraction:
    """Return the value of an expression.

    Raises:
        Unreadable: It is not an expression.
        NotRational: It has a letter or an irrational root, divides by zero, or is too large.
    """
    return rational(expression(text))


def rational(node: Node) -> Fraction:
    """Return the value of a tree.

    Raises:
        NotRational: The value is not a rational number of bounded size.
    """
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Operation):
        return _joined(node.sign, rational(node.left), rational(node.right))
    if isinstance(node, Call):
        return _called(node.function, [rational(argument) for argument in node.arguments])
    raise NotRational(f"expected numbers, got {_describe_node(node)}")


def write_number(value: Fraction) -> str:
    """Write a number as a calculator shows it: whole, or as a fraction."""
    is_whole = value.denominator == 1
    return str(value.numerator) if is_whole else f"{value.numerator}/{value.denominator}"


def _joined(sign: str, left: Fraction, right: Fraction) -> Fraction:
    if sign == "^":
        return _power(left, right)
    if sign in ("/", "mod") and right == 0:
        raise NotRational("division by zero")
    _bounded(left, right)
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    return left / right if sign == "/" else left % right


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        return _root(_power(base, Fraction(exponent.numerator)), exponent.denominator)
    if base == 0 and exponent < 0:
        raise NotRational("division by zero")
    if abs(base) in (0, 1):
        # An odd exponent keeps the sign, however large it is.
        return base if exponent % 2 or (base >= 0 and exponent) else Fraction(1)
    if abs(exponent) > MOST_BITS or _bits(base) * abs(exponent) > MOST_BITS:
        raise NotRational(f"the power has more than {MOST_BITS} bits")
    return base ** int(exponent)


def _root(value: Fraction, index: int) -> Fraction:
    """Return a root that is rational."""
    if not 0 < index <= 64 or (value < 0 and index % 2 == 0):
        raise NotRational("expected a root that is a real number")
    top, bottom = (_whole_root(abs(part), index) for part in value.as_integer_ratio())
    if top is None or bottom is None:
        raise NotRational("the root is irrational")
    return Fraction(top if value >= 0 else -top, bottom)


def _whole_root(value: int, index: int) -> int | None:
    """Return the whole root of a natural number, or None if it has none."""
    low, high = 0, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**index <= value else (low, middle - 1)
    return low if low**index == value else None


def _called(name: str, arguments: list[Fraction]) -> Fraction:
    least, max_count, function = _FUNCTIONS.get(name, (0, -1, None))
    if function is None:
        raise NotRational(f"{name} is not rational")
    if not least <= len(arguments) <= max_count:
        raise NotRational(f"{name} takes {least} to {max_count} numbers, got {len(arguments)}")
    _bounded(*arguments)
    return Fraction(function(*arguments))


def _to_integer(value: Fraction) -> int:
    if value.denominator != 1:
        raise NotRational(f"expected a whole number, got {write_number(value):.40}")
    return value.numerator


def _count(value: Fraction) -> int:
    if not 0 <= _to_integer(value) <= LARGEST_COUNT:
        raise NotRational(
            f"expected a number from 0 to {LARGEST_COUNT}, got {write_number(value):.40}"
        )
    return value.numerator


def _rounded(value: Fraction, places: Fraction = Fraction(0)) -> Fraction:
    """Round half away from zero, as schools do."""
    scale = Fraction(10) ** min(_count(places), 50)
    return (
        Fraction(math.floor(abs(value) * scale + Fraction(1, 2))) / scale * (-1 if value < 0 else 1)
    )


MANY = 64
_FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Fraction | int]]] = {
    "abs": (1, 1, abs),
    "floor": (1, 1, math.floor),
    "ceil": (1, 1, math.ceil),
    "round": (1, 2, _rounded),
    "%": (1, 1, lambda value: value / 100),
    "sqrt": (1, 1, lambda value: _root(value, 2)),
    "cbrt": (1, 1, lambda value: _root(value, 3)),
    "root": (2, 2, lambda value, index: _root(value, _to_integer(index))),
    "mod": (2, 2, lambda left, right: _joined("mod", left, right)),
    "gcd": (1, MANY, lambda *values: math.gcd(*map(_to_integer, values))),
    "lcm": (1, MANY, lambda *values: _lcm(*map(_to_integer, values))),
    "max": (1, MANY, max),
    "min": (1, MANY, min),
    "factorial": (1, 1, lambda value: _factorial(value)),
    "binom": (2, 2, lambda n, k: math.comb(_count(n), _count(k))),
    "comb": (2, 2, lambda n, k: math.comb(_count(n), _count(k))),
}
"""Function -> fewest and most arguments, and what calculates it."""


def _lcm(*values: int) -> int:
    multiple = 1
    for value in values:
        multiple = math.lcm(multiple, value)
        _bounded(Fraction(multiple))
    return multiple


def _factorial(value: Fraction) -> int:
    return math.factorial(_count(value))


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _bounded(*values: Fraction) -> None:
    """Refuse numbers whose product would be too large."""
    if sum(map(_bits, values)) > 2 * MOST_BITS:
        raise NotRational(f"a number has more than {MOST_BITS} bits")


def _describe_node(node: Node) -> str:
    return getattr(node, "name", type(node).__name__.lower())


__all__ = ["NotRational", "Unreadable", "calculated", "rational", "write_number"]
