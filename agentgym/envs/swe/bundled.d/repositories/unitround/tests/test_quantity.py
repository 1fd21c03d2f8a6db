"""Units and quantities."""

from fractions import Fraction as F

import pytest
from unitround import Quantity, UnitError, convert


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (5, "ft", "cm", F("152.4")),
        (1, "mi", "km", F("1.609344")),
        (3, "yd", "ft", 9),
        (1, "ft", "inch", 12),
        (1, "lb", "oz", 16),
        (2, "kg", "g", 2000),
        (1, "t", "kg", 1000),
        (1, "cup", "tsp", 48),
        (250, "ml", "l", F(1, 4)),
        (1, "d", "h", 24),
        (90, "s", "min", F(3, 2)),
        (7, "mg", "mg", 7),
    ],
)
def test_convert(value, source, target, result):
    """Units are converted exactly."""
    assert convert(F(value), source, target) == result


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        (0, "C", "K", F("273.15")),
        (100, "C", "F", 212),
        (32, "F", "C", 0),
        (-40, "F", "C", -40),
        (0, "K", "C", F("-273.15")),
    ],
)
def test_temperature(value, source, target, result):
    """Temperatures have different zeros."""
    assert convert(F(value), source, target) == result


def test_different_kinds():
    """A length cannot be converted to a mass."""
    with pytest.raises(UnitError, match=r"length \(m\) to mass \(g\)"):
        convert(F(1), "m", "g")


def test_unknown_unit():
    """An unknown unit is refused by name."""
    with pytest.raises(UnitError, match="'parsec' is not a unit"):
        Quantity(F(1), "parsec")


def test_case_of_units():
    """Units may be written in upper case."""
    assert str(Quantity.parse("3 KM")) == "3 km"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.5km", F(3, 2)), ("2 1/2 km", F(5, 2)), ("-3 km ", F(-3)), ("1. 5km", None)],
)
def test_parse(text, value):
    """A quantity is a number and a unit, with or without a space."""
    if value is None:
        with pytest.raises(ValueError, match="not a number"):
            Quantity.parse(text)
    else:
        assert Quantity.parse(text) == Quantity(value, "km")


@pytest.mark.parametrize("text", ["5", "km", ""])
def test_no_quantity(text):
    """A quantity needs a number and a unit."""
    with pytest.raises(UnitError, match="not a number with a unit"):
        Quantity.parse(text)


def test_add():
    """A sum has the unit of its first part."""
    assert str(Quantity.parse("1.5 km") + Quantity.parse("250 m")) == "1.75 km"


def test_subtract():
    """A difference has the unit of its first part."""
    assert str(Quantity.parse("1 h") - Quantity.parse("15 min")) == "0.75 h"


def test_multiply():
    """A quantity can be multiplied by a number."""
    assert Quantity.parse("1/3 cup") * 6 == Quantity(F(2), "cup")


def test_compare():
    """Quantities are compared whatever their units."""
    short, long = Quantity.parse("1 m"), Quantity.parse("1 yd")
    assert (long < short, short < long, short < short) == (True, False, False)


def test_same():
    """Quantities with different units may be the same."""
    hour = Quantity.parse("1 h")
    assert (hour.same_as(Quantity.parse("60 min")), hour.same_as(Quantity.parse("1 s"))) == (
        True,
        False,
    )


def test_rounded():
    """A quantity can be rounded after it was converted."""
    assert str(Quantity.parse("1.75 km").to("mi").rounded(2)) == "1.09 mi"


def test_rounded_with_mode():
    """A quantity can be rounded by another rule."""
    assert Quantity(F(19, 10), "m").rounded(0, "down") == Quantity(F(1), "m")


@pytest.mark.parametrize(
    ("text", "best"),
    [("1500 m", "1.5 km"), ("1000 m", "1 km"), ("999 m", "999 m"), ("2 mm", "0.2 cm")],
)
def test_best(text, best):
    """The best unit is the largest in which the number is at least 1, else the smallest."""
    assert str(Quantity.parse(text).best("cm", "km", "m")) == best


def test_best_of_negative_quantity():
    """The sign does not matter for the best unit."""
    assert str(Quantity.parse("-1500 m").best("m", "km")) == "-1.5 km"


def test_text():
    """The text of a quantity has six decimals at most."""
    assert str(Quantity(F(2, 3), "l")) == "0.666667 l"
