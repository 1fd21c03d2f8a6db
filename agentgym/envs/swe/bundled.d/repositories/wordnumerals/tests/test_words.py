"""Numbers in words."""

import pytest
from wordnumerals import NumeralError, from_words, to_words

PAIRS = [
    (0, "zero"),
    (7, "seven"),
    (19, "nineteen"),
    (20, "twenty"),
    (42, "forty-two"),
    (100, "one hundred"),
    (305, "three hundred and five"),
    (999, "nine hundred and ninety-nine"),
    (1000, "one thousand"),
    (1042, "one thousand and forty-two"),
    (1100, "one thousand one hundred"),
    (2_000_007, "two million and seven"),
    (3_004_000_500, "three billion four million five hundred"),
    (-15, "minus fifteen"),
]


@pytest.mark.parametrize(("number", "text"), PAIRS)
def test_write(number, text):
    """Numbers are written in words, with and before what is less than a hundred."""
    assert to_words(number) == text


@pytest.mark.parametrize(("number", "text"), PAIRS)
def test_read(number, text):
    """Numbers in words are read."""
    assert from_words(text) == number


@pytest.mark.parametrize(
    ("number", "text"), [(305, "three hundred five"), (1042, "one thousand forty-two")]
)
def test_without_and(number, text):
    """The word and can be left out."""
    assert to_words(number, use_and=False) == text
    assert from_words(text) == number


@pytest.mark.parametrize("number", [10**12, -(10**12)])
def test_too_large(number):
    """A million millions have no words."""
    with pytest.raises(NumeralError, match="no words"):
        to_words(number)


def test_largest():
    """The number before a million millions has words."""
    assert to_words(10**12 - 1).startswith("nine hundred and ninety-nine billion nine hundred")


def test_case_and_commas():
    """Upper case and commas do not matter when words are read."""
    assert from_words("Two Thousand, three hundred and Six") == 2306


@pytest.mark.parametrize("text", ["", "minus", "and five", "five and"])
def test_not_a_number(text):
    """A text without a number, or with and at an end, is refused."""
    with pytest.raises(NumeralError, match="not a number in words"):
        from_words(text)


def test_unknown_word():
    """A word that is no number is refused by name."""
    with pytest.raises(NumeralError, match="'dozen' is not a number"):
        from_words("two dozen")


@pytest.mark.parametrize(
    "text",
    [
        "thousand",
        "hundred",
        "five six",
        "twenty eleven",
        "twenty thirty",
        "ten five",
        "two hundred hundred",
        "eleven hundred",
        "one hundred two hundred",
        "one thousand two million",
        "one thousand two thousand",
        "twenty zero",
    ],
)
def test_wrong_place(text):
    """Words that do not make a number together are refused."""
    with pytest.raises(NumeralError, match="wrong place"):
        from_words(text)
