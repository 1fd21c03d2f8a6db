"""Simplifying."""

import pytest
from arithtree import parse, simplify, to_text


def simple(text):
    """Return the text of the simplified expression."""
    return to_text(simplify(parse(text)))


@pytest.mark.parametrize("text", ["x + 0", "0 + x", "x - 0", "x * 1", "1 * x", "x / 1", "x ^ 1"])
def test_neutral_operands(text):
    """An operand that changes nothing is removed."""
    assert simple(text) == "x"


@pytest.mark.parametrize("text", ["x * 0", "0 * x", "x - x"])
def test_zero(text):
    """A product with 0 and a difference of equal operands are 0."""
    assert simple(text) == "0"


def test_power_of_zero():
    """Anything to the power 0 is 1."""
    assert simple("x ^ 0") == "1"


@pytest.mark.parametrize(
    ("text", "result"), [("2 + 3", "5"), ("6 / 3", "2"), ("2 ^ 3 * x", "8 * x"), ("3 < 4", "1")]
)
def test_numbers_are_computed(text, result):
    """Operators between numbers are computed."""
    assert simple(text) == result


def test_fractions_stay():
    """A quotient that is not whole stays as it is."""
    assert simple("1 / 3") == "1 / 3"


def test_errors_stay():
    """A division by zero stays as it is."""
    assert simple("x + 1 / 0") == "x + 1 / 0"


@pytest.mark.parametrize("text", ["x / 0", "0 / x", "x / x", "1 ^ x", "x + x", "0 - 1 * x ^ 2 % 1"])
def test_what_is_not_simplified(text):
    """What may be an error, or has no shorter form, keeps its meaning."""
    expected = {"0 - 1 * x ^ 2 % 1": "-(x ^ 2 % 1)"}.get(text, text)
    assert simple(text) == expected


def test_double_sign():
    """A sign before a signed operand cancels it."""
    assert simple("-(-x)") == "x"


def test_sign_of_number():
    """A sign before a number becomes part of the number."""
    assert simple("x * -(2)") == "x * -2"


def test_zero_minus():
    """0 - x becomes -x."""
    assert simple("0 - x") == "-x"


def test_plus_negative():
    """X + -y becomes x - y."""
    assert simple("x + -y") == "x - y"


def test_minus_negative():
    """X - -y becomes x + y."""
    assert simple("x - -y") == "x + y"


def test_inside_a_call():
    """Arguments of functions are simplified."""
    assert simple("max(x + 0, 1 + 1)") == "max(x, 2)"


def test_simplified_operands():
    """Operands are simplified before their operator."""
    assert simple("(x + 0) * (2 - 1)") == "x"
