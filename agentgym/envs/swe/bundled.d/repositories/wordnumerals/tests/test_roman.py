"""Roman numerals."""

import pytest
from wordnumerals import NumeralError, from_roman, is_roman, to_roman

PAIRS = [
    (1, "I"),
    (4, "IV"),
    (9, "IX"),
    (14, "XIV"),
    (40, "XL"),
    (90, "XC"),
    (400, "CD"),
    (1666, "MDCLXVI"),
    (1994, "MCMXCIV"),
    (3999, "MMMCMXCIX"),
]


@pytest.mark.parametrize(("number", "text"), PAIRS)
def test_write(number, text):
    """Numbers are written with the usual Roman numerals."""
    assert to_roman(number) == text


@pytest.mark.parametrize(("number", "text"), PAIRS)
def test_read(number, text):
    """Usual Roman numerals are read."""
    assert from_roman(text) == number


@pytest.mark.parametrize("number", [0, -1, 4000])
def test_out_of_range(number):
    """Roman numerals go from 1 to 3999."""
    with pytest.raises(NumeralError, match="from 1 to 3999"):
        to_roman(number)


def test_lower_case():
    """A Roman numeral may be in lower case and have spaces around it."""
    assert from_roman(" xiv ") == 14


@pytest.mark.parametrize("text", ["IIII", "IM", "VX", "MMMM", "IXI"])
def test_unusual(text):
    """Unusual forms are refused."""
    with pytest.raises(NumeralError, match="not a usual"):
        from_roman(text)


@pytest.mark.parametrize(
    ("text", "number"), [("IIII", 4), ("IM", 999), ("MMMMM", 5000), ("IIX", 8)]
)
def test_not_strict(text, number):
    """Unusual forms are read if they are allowed."""
    assert from_roman(text, strict=False) == number


def test_other_letters():
    """A letter that is no Roman digit is refused by name."""
    with pytest.raises(NumeralError, match="'A' is not"):
        from_roman("XA")


def test_empty():
    """An empty text is no Roman numeral."""
    with pytest.raises(NumeralError, match="empty"):
        from_roman(" ")


def test_is_roman():
    """is_roman says whether a text is a usual Roman numeral."""
    assert [is_roman(text) for text in ("XII", "IIX", "hello")] == [True, False, False]
