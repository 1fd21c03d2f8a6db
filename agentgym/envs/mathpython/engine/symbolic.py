"""Compare expressions that are not rational by sympy: polynomials, roots, pi, trigonometry.

Sympy never parses text here, since its parsers evaluate their input: trees are converted to its
objects node by node. A quotient is stored as expanded numerator and denominator, and a product is
refused in advance if it would have too many terms, too high a degree, or too long numbers. So two
quotients are equal exactly if their cross product is zero, and sympy's simplification, which may
never end, is not needed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from agentgym.envs.mathpython.engine.exact import NotRational, rational
from agentgym.envs.mathpython.engine.tree import Call, Name, Node, Number, Operation
from agentgym.errors import require

MOST_TERMS = 200
HIGHEST = 30
"""Highest exponent."""
MOST_BITS = 2000
"""Most bits of a coefficient."""
DIGITS = 50
"""Digits to which constants are compared."""
_SAME = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "Abs"}
_FUNCTIONS = ("sin", "cos", "tan", "cot", "asin", "acos", "atan", "exp", "log", "Abs")
LARGEST_ARGUMENT = 10**6
"""Largest number, or multiple of pi, as argument of a function: sympy takes longest for towers of
exponentials."""
MOST_OPERATIONS = 40
"""Most operations below a root or in a function."""
_LEAST = Fraction(1, 10**400)
"""What is nearer to zero, or farther than its inverse, has no decimal: it could not be written."""


class TooLarge(ValueError):
    """An expression exceeds the limits, or is not supported."""


class Quotient(NamedTuple):
    """A numerator and a denominator, both expanded."""

    top: Any
    bottom: Any


def equal(first: Node, second: Node) -> bool:
    """Return whether two expressions are equivalent; False if that exceeds the limits."""
    sympy = require("sympy", "math")
    try:
        left, right = _built(first, sympy), _built(second, sympy)
        difference = _plus(_times(left.top, right.bottom), _times(right.top, left.bottom), -1)
    except TooLarge:
        return False
    if difference == 0:
        return True
    # Constants of which sympy knows no normal form: nested roots, sines of fractions of pi.
    return not difference.free_symbols and bool(
        abs(difference.evalf(DIGITS, maxn=2 * DIGITS)) < 10**-40
    )


def decimal(node: Node, digits: int = DIGITS) -> Fraction | None:
    """Return a real constant, rounded to a number of digits; None if it is not a real constant."""
    sympy = require("sympy", "math")
    try:
        built = _built(node, sympy)
    except TooLarge:
        return None
    value = (built.top / built.bottom).evalf(digits, maxn=2 * digits)
    if not value.is_Float or not _LEAST <= abs(value) <= 1 / _LEAST:
        return None
    return Fraction(str(value))


def _built(node: Node, sympy: Any) -> Quotient:
    """Turn a tree into a quotient."""
    try:
        value = rational(node)
    except NotRational:
        return _composed(node, sympy)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise TooLarge("a number")
    return Quotient(sympy.Integer(value.numerator), sympy.Integer(value.denominator))


def _composed(node: Node, sympy: Any) -> Quotient:
    if isinstance(node, Name):
        return Quotient(_name(node.name, sympy), sympy.Integer(1))
    if isinstance(node, Call):
        return _call(node, sympy)
    if not isinstance(node, Operation) or node.sign == "mod":
        raise TooLarge(type(node).__name__)
    if node.sign == "^":
        return _raised(node, sympy)
    left, right = _built(node.left, sympy), _built(node.right, sympy)
    if node.sign == "*":
        return Quotient(_times(left.top, right.top), _times(left.bottom, right.bottom))
    if node.sign == "/":
        if right.top == 0:
            raise TooLarge("division by zero")
        return Quotient(_times(left.top, right.bottom), _times(left.bottom, right.top))
    crossed = _times(left.top, right.bottom), _times(right.top, left.bottom)
    sign = 1 if node.sign == "+" else -1
    return Quotient(_plus(*crossed, sign), _times(left.bottom, right.bottom))


def _name(name: str, sympy: Any) -> Any:
    constants = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I}
    return constants[name] if name in constants else sympy.Symbol(name, positive=True)


def _raised(node: Operation, sympy: Any) -> Quotient:
    """Raise to a small rational power."""
    base = _built(node.left, sympy)
    try:
        exponent = rational(node.right)
    except NotRational:
        power = _built(node.right, sympy)
        if base.bottom != 1 or power.bottom != 1 or not power.top.free_symbols:
            raise TooLarge("a power") from None
        return Quotient(sympy.Pow(*_tame(base.top, power.top, sympy)), sympy.Integer(1))
    if abs(exponent) > HIGHEST or exponent.denominator > 10:
        raise TooLarge("an exponent")
    if exponent.denominator > 1:
        base = Quotient(*(_rooted(part, exponent.denominator, sympy) for part in base))
    if exponent < 0:
        base = Quotient(base.bottom, base.top)
    if base.bottom == 0:
        raise TooLarge("division by zero")
    raised = [sympy.Integer(1), sympy.Integer(1)]
    for _ in range(abs(exponent.numerator)):
        raised = [_times(part, factor) for part, factor in zip(raised, base, strict=True)]
    return Quotient(*raised)


def _rooted(value: Any, index: int, sympy: Any) -> Any:
    """Take a root; of a long number it is refused, since sympy factors it."""
    if value.is_Integer and abs(value) > 10**18:
        raise TooLarge("the root of a long number")
    return sympy.expand(sympy.Pow(_small(value), sympy.Rational(1, index)))


def _tame(base: Any, exponent: Any, sympy: Any) -> tuple[Any, Any]:
    """Return a power with letters in its exponent, if it is no large one in disguise.

    Sympy splits ``2^(x + 9)`` into ``2^x`` and a number, and takes ``e^(9 ln y)`` for ``y^9``.
    """
    highest = HIGHEST if base.is_Atom else 1
    if exponent.has(sympy.log) or abs(exponent.as_coeff_Add()[0]) > highest:
        raise TooLarge("an exponent")
    return _small(base), _small(exponent)


def _small(value: Any) -> Any:
    """Return what a root or a function may be taken of."""
    if value.count_ops() > MOST_OPERATIONS:
        raise TooLarge("what stands below a root or in a function")
    return value


def _call(node: Call, sympy: Any) -> Quotient:
    roots = {"sqrt": 2, "cbrt": 3}
    if len(node.arguments) != 1 + (node.function == "root"):
        raise TooLarge(node.function)
    if node.function in roots or node.function == "root":
        index = roots.get(node.function) or node.arguments[1]
        exponent = Number(Fraction(index)) if isinstance(index, int) else index
        power = Operation("^", node.arguments[0], Operation("/", Number(Fraction(1)), exponent))
        return _raised(power, sympy)
    if node.function == "%":
        return _built(Operation("/", node.arguments[0], Number(Fraction(100))), sympy)
    name = _SAME.get(node.function, node.function)
    if name not in _FUNCTIONS:
        raise TooLarge(node.function)
    inner = _built(node.arguments[0], sympy)
    argument = _small(inner.top / inner.bottom)
    number = argument / sympy.pi if argument.has(sympy.pi) else argument
    if not argument.free_symbols and not (number.is_Rational and abs(number) <= LARGEST_ARGUMENT):
        raise TooLarge("the function of a constant")
    if name == "exp" and argument.free_symbols:
        _tame(sympy.E, argument, sympy)
    value = getattr(sympy, name)(argument)
    if value.is_finite is False or value is sympy.nan:
        raise TooLarge("infinity")
    return Quotient(value, sympy.Integer(1))


def _times(left: Any, right: Any) -> Any:
    """Multiply two expanded sums, if the product is small."""
    left_size, right_size = _size(left), _size(right)
    if left_size[0] * right_size[0] > MOST_TERMS or left_size[1] + right_size[1] > MOST_BITS:
        raise TooLarge("a product")
    product = (left * right).expand()
    if _degree(product) > HIGHEST:
        raise TooLarge("a degree")
    return product


def _plus(left: Any, right: Any, sign: int) -> Any:
    if _size(left)[0] + _size(right)[0] > MOST_TERMS:
        raise TooLarge("a sum")
    return (left + sign * right).expand()


def _size(value: Any) -> tuple[int, int]:
    """Return the number of terms, and the most bits of a coefficient."""
    bits = 1
    terms = value.args if value.is_Add else (value,)
    for term in terms:
        number = term.as_coeff_Mul()[0]
        if number.is_Rational:
            bits = max(bits, int(number.p).bit_length(), int(number.q).bit_length())
    return len(terms), bits


def _degree(value: Any) -> int:
    """Return the highest whole exponent in a sum."""
    degree = 0
    for term in value.args if value.is_Add else (value,):
        for factor in term.args if term.is_Mul else (term,):
            if factor.is_Pow and factor.exp.is_Integer:
                degree = max(degree, abs(int(factor.exp)))
    return degree
