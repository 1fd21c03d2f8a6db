"""Splitting expressions into tokens."""

import pytest
from arithtree import ParseError, Token, tokenize


def texts(expression):
    """Return the texts of the tokens before the end."""
    return [token.text for token in tokenize(expression)[:-1]]


def test_empty_text():
    """An empty text has only the token that marks the end."""
    assert tokenize("") == [Token("end", "", 0)]


def test_positions():
    """Every token says where it begins; the end lies behind the last character."""
    assert [token.position for token in tokenize("a + 12")] == [0, 2, 4, 6]


def test_kinds():
    """Tokens are numbers, names, operators or the end."""
    assert [token.kind for token in tokenize("a+1")] == ["name", "operator", "number", "end"]


@pytest.mark.parametrize("number", ["7", "120", "1.5", ".5", "2.", "1e3", "1.5E-3", "2e+10"])
def test_numbers(number):
    """Whole numbers, fractions and exponents are single tokens."""
    assert texts(number) == [number]


@pytest.mark.parametrize(
    ("expression", "pieces"),
    [("2e", ["2", "e"]), ("2em", ["2", "em"]), ("3e+x", ["3", "e", "+", "x"])],
)
def test_letter_e_without_digits(expression, pieces):
    """The letter e after a number begins a name if no digits follow."""
    assert texts(expression) == pieces


def test_names():
    """Names may hold digits and underscores."""
    assert texts("_a1 b_2") == ["_a1", "b_2"]


@pytest.mark.parametrize("operator", ["<=", ">=", "==", "!=", "//"])
def test_long_operators(operator):
    """Operators of two characters are one token."""
    assert texts(f"a{operator}b") == ["a", operator, "b"]


def test_unknown_character():
    """A character that belongs to no token is an error with its position."""
    with pytest.raises(ParseError, match=r"'\$'") as caught:
        tokenize("1 + $")
    assert caught.value.position == 4


def test_lone_dot():
    """A dot without a digit behind it is no number."""
    with pytest.raises(ParseError, match=r"'\.'"):
        tokenize("1 + .")
