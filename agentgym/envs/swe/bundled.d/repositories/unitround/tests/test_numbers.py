"""Reading and writing numbers."""

from fractions import Fraction as F

import pytest
from unitround import format_decimal, nearest_fraction, parse_number, to_mixed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", F(12)),
        (" 0.25 ", F(1, 4)),
        (".5", F(1, 2)),
        ("1,234,567.5", F(2469135, 2)),
        ("3/4", F(3, 4)),
        ("2 1/2", F(5, 2)),
        ("1 / 3", F(1, 3)),
    ],
)
def test_parse(text, value):
    """Numbers may have decimals, commas between thousands, or be fractions."""
    assert parse_number(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("-2 1/2", F(-5, 2)), ("+3", F(3)), ("- 1", F(-1)), ("-0.5", F(-1, 2))]
)
def test_signs(text, value):
    """A sign applies to the whole number."""
    assert parse_number(text) == value


@pytest.mark.parametrize(("text", "value"), [("40%", F(2, 5)), ("-1/2 %", F(-1, 200))])
def test_percent(text, value):
    """A percent sign divides by 100."""
    assert parse_number(text) == value


@pytest.mark.parametrize("text", ["", "-", "%", "1,23", "1.2.3", "1 2", "a", "1e3", "1."])
def test_no_number(text):
    """What is no number is refused."""
    with pytest.raises(ValueError, match="is not a number"):
        parse_number(text)


def test_zero_denominator():
    """A denominator of 0 is refused."""
    with pytest.raises(ValueError, match="denominator"):
        parse_number("1/0")


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (F(2, 3), 2, "0.67"),
        (F(1, 8), 2, "0.13"),
        (F(-5, 2), 0, "-3"),
        (F(5), 2, "5.00"),
        (F(1, 200), 2, "0.01"),
        (F(-1, 1000), 2, "0.00"),
        (F(101, 100), 3, "1.010"),
    ],
)
def test_decimals(value, decimals, text):
    """A number is written with as many decimals as were asked for."""
    assert format_decimal(value, decimals) == text


def test_two_decimals():
    """Two decimals are written if nothing else is said."""
    assert format_decimal(F(1, 3)) == "0.33"


def test_groups():
    """Thousands can be separated by commas."""
    assert format_decimal(F(-1234567), 1, group=True) == "-1,234,567.0"


@pytest.mark.parametrize(("value", "text"), [(F(5, 2), "2.5"), (F(20), "20"), (F(1, 3), "0.333")])
def test_trim(value, text):
    """Zeros at the end of the decimals can be left out, those of whole numbers stay."""
    assert format_decimal(value, 3, trim=True) == text


def test_trim_without_decimals():
    """A number without decimals keeps its zeros."""
    assert format_decimal(F(20), 0, trim=True) == "20"


@pytest.mark.parametrize(
    ("value", "text"),
    [(F(11, 4), "2 3/4"), (F(-1, 2), "-1/2"), (F(-5), "-5"), (F(0), "0"), (F(-7, 2), "-3 1/2")],
)
def test_mixed(value, text):
    """A mixed number has a whole part and a fraction, where there are such."""
    assert to_mixed(value) == text


@pytest.mark.parametrize(
    ("most", "result"), [(1, F(3)), (6, F(19, 6)), (7, F(22, 7)), (8, F(22, 7)), (200, F(355, 113))]
)
def test_nearest_fraction(most, result):
    """The nearest fraction has a denominator up to the limit."""
    assert nearest_fraction(F("3.14159265"), most) == result


def test_nearest_fraction_tie():
    """Of two equally near fractions the smaller one is taken."""
    assert nearest_fraction(F(1, 2), 1) == 0


def test_nearest_fraction_limit():
    """The limit of the denominator is at least 1."""
    with pytest.raises(ValueError, match="at least 1"):
        nearest_fraction(F(1), 0)
