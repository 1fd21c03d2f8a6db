"""Ordinals."""

import pytest
from wordnumerals import NumeralError, ordinal, parse_ordinal, words_to_ordinal


@pytest.mark.parametrize(
    "text",
    ["1st", "2nd", "3rd", "4th", "10th", "11th", "12th", "13th", "21st", "111th", "122nd", "0th"],
)
def test_ordinal(text):
    """Ordinals end with st, nd, rd or th."""
    assert ordinal(int(text[:-2])) == text


def test_negative_ordinal():
    """The sign does not matter for the end of an ordinal."""
    assert ordinal(-21) == "-21st"


@pytest.mark.parametrize(("text", "number"), [("23rd", 23), (" 11TH ", 11), ("-1st", -1)])
def test_parse(text, number):
    """Ordinals with digits are read."""
    assert parse_ordinal(text) == number


@pytest.mark.parametrize("text", ["23th", "11st", "5", "th", "", "1.5th"])
def test_malformed(text):
    """An ordinal with a wrong end, or without one, is refused."""
    with pytest.raises(NumeralError, match="not an ordinal"):
        parse_ordinal(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "first"),
        (5, "fifth"),
        (7, "seventh"),
        (12, "twelfth"),
        (20, "twentieth"),
        (21, "twenty-first"),
        (100, "one hundredth"),
        (102, "one hundred and second"),
        (0, "zeroth"),
    ],
)
def test_words(number, text):
    """Ordinals are written in words."""
    assert words_to_ordinal(number) == text
