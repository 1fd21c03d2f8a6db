"""Money."""

from fractions import Fraction

import pytest
from tallybook import Money, MoneyError


def money(text):
    """Short for reading an amount."""
    return Money.parse(text)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("12.50 EUR", 1250),
        ("12.5 EUR", 1250),
        ("12 EUR", 1200),
        ("-0.05 EUR", -5),
        ("+3 USD", 300),
        ("1,234,567.89 EUR", 123456789),
        ("7EUR", 700),
    ],
)
def test_parse(text, units):
    """Amounts may have a sign, separators and as many decimals as the currency."""
    assert money(text).units == units


@pytest.mark.parametrize(
    ("text", "units"), [("500 JPY", 500), ("1.234 KWD", 1234), ("1 BHD", 1000)]
)
def test_currencies_with_other_decimals(text, units):
    """Yen have no decimals, dinars have three."""
    assert money(text).units == units


@pytest.mark.parametrize("text", ["", "EUR", "12,50 EUR", "1,23 EUR", "12.50", "12 eur", "12. EUR"])
def test_no_amount(text):
    """A text that is no amount with a currency is refused."""
    with pytest.raises(MoneyError, match=r"is not an amount such as"):
        money(text)


@pytest.mark.parametrize("text", ["1.234 EUR", "1.5 JPY"])
def test_too_many_decimals(text):
    """More decimals than the currency has are refused."""
    with pytest.raises(MoneyError, match=r"decimals"):
        money(text)


@pytest.mark.parametrize(
    "text", ["12.50 EUR", "-0.05 EUR", "0.00 EUR", "500 JPY", "-1.234 KWD", "-0.005 KWD", "0 JPY"]
)
def test_written(text):
    """An amount is written with all decimals of its currency."""
    assert str(money(text)) == text


def test_repr():
    """An amount shows itself as it is written."""
    assert repr(money("5 EUR")) == "Money('5.00 EUR')"


def test_add_and_subtract():
    """Amounts of one currency are added and subtracted."""
    assert money("1.20 EUR") + money("0.90 EUR") == money("2.10 EUR")
    assert money("1.20 EUR") - money("2.00 EUR") == money("-0.80 EUR")


def test_negative_and_absolute():
    """The sign of an amount can be turned round and dropped."""
    assert (-money("3 EUR"), abs(money("-3 EUR"))) == (money("-3 EUR"), money("3 EUR"))


@pytest.mark.parametrize("work", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a < b])
def test_currencies_do_not_mix(work):
    """Adding, subtracting or comparing amounts of different currencies is refused."""
    with pytest.raises(MoneyError, match=r"EUR and USD do not mix"):
        work(money("1 EUR"), money("1 USD"))


def test_order():
    """Amounts of one currency can be compared."""
    assert money("1 EUR") < money("1.01 EUR") <= money("1.01 EUR")
    assert not money("1 EUR") < money("1 EUR")


def test_truth():
    """An amount is true if it is not zero, negative ones included."""
    assert [bool(money(text)) for text in ("0 EUR", "0.01 EUR", "-1 EUR")] == [False, True, True]


def test_total():
    """The total of no amounts is zero."""
    assert Money.total([], "EUR") == money("0 EUR")
    assert Money.total([money("1 EUR"), money("2 EUR")], "EUR") == money("3 EUR")


@pytest.mark.parametrize(("units", "half"), [(5, 2), (7, 4), (-5, -2), (4, 2)])
def test_rounding(units, half):
    """Half a unit is rounded to the even neighbour."""
    assert Money(units, "EUR") * Fraction(1, 2) == Money(half, "EUR")


def test_percent():
    """A percentage may have decimals and is rounded to whole units."""
    assert money("19.99 EUR").percent("7.5") == money("1.50 EUR")


def test_split():
    """Splitting loses nothing, and the larger parts come first."""
    assert money("10.00 EUR").split(3) == [money("3.34 EUR"), money("3.33 EUR"), money("3.33 EUR")]


def test_split_negative():
    """A negative amount is split like a positive one."""
    assert money("-0.05 EUR").split(2) == [money("-0.03 EUR"), money("-0.02 EUR")]


def test_split_into_nothing():
    """Splitting into no parts is refused."""
    with pytest.raises(MoneyError, match=r"cannot split into 0 parts"):
        money("1 EUR").split(0)


def test_allocate():
    """An amount is allocated in proportion to weights."""
    assert money("80 EUR").allocate([3, 1, 0]) == [money("60 EUR"), money("20 EUR"), money("0 EUR")]


def test_allocate_rest():
    """The rest of an allocation goes to the part that lost most by rounding."""
    assert money("0.10 EUR").allocate([1, 2, 4]) == [
        money("0.01 EUR"),
        money("0.03 EUR"),
        money("0.06 EUR"),
    ]


@pytest.mark.parametrize("weights", [[0, 0], [2, -1]])
def test_bad_weights(weights):
    """Weights that are negative or all zero are refused."""
    with pytest.raises(MoneyError, match=r"weights cannot be negative or all zero"):
        money("1 EUR").allocate(weights)


@pytest.mark.parametrize(
    ("text", "rate", "currency", "result"),
    [
        ("10.00 EUR", "1.0825", "USD", "10.82 USD"),
        ("10.00 EUR", "161.5", "JPY", "1615 JPY"),
        ("1000 JPY", "0.0062", "EUR", "6.20 EUR"),
    ],
)
def test_convert(text, rate, currency, result):
    """Converting respects the decimals of both currencies."""
    assert money(text).convert(rate, currency) == money(result)
