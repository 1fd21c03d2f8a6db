"""Printing."""

import pytest
from arithtree import Binary, Name, Number, Unary, parse, to_text


@pytest.mark.parametrize(
    "text",
    [
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "a - b - c",
        "a / (b * c)",
        "a ^ b ^ c",
        "(a ^ b) ^ c",
        "(-a) ^ b",
        "-a ^ b",
        "a ^ -b",
        "-(a + b)",
        "(a < b) + c",
        "(a < b) == (c < d)",
        "f(a + b, g())",
        "a * -b",
        "1.5 * x",
    ],
)
def test_parentheses_that_are_needed(text):
    """An expression with only the parentheses that it needs is printed as it was read."""
    assert to_text(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("(a * b) + c", "a * b + c"),
        ("(a + b) + c", "a + b + c"),
        ("a ^ (b ^ c)", "a ^ b ^ c"),
        ("((a)) < (b + c)", "a < b + c"),
        ("f((a))", "f(a)"),
        ("(-a) * b", "-a * b"),
    ],
)
def test_needless_parentheses(text, printed):
    """Parentheses that change nothing are dropped."""
    assert to_text(parse(text)) == printed


def test_negative_number_as_base():
    """A negative number gets parentheses where it is the base of a power."""
    assert to_text(Binary("^", Number(-2), Name("x"))) == "(-2) ^ x"


def test_sign_of_signed_operand():
    """A sign before a signed operand gets parentheses."""
    assert to_text(Unary("-", Unary("-", Name("x")))) == "-(-x)"
