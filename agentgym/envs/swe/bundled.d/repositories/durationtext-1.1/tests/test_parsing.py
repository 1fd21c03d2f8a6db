"""Reading durations."""

import pytest
from durationtext import DurationError, parse


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1w", 604_800_000),
        ("1d", 86_400_000),
        ("1h", 3_600_000),
        ("1m", 60_000),
        ("1s", 1_000),
        ("1ms", 1),
    ],
)
def test_units(text, milliseconds):
    """Every unit has its length."""
    assert parse(text) == milliseconds


@pytest.mark.parametrize("text", ["2 hours", "2hrs", "2 HOUR", "2H", "  2  hr "])
def test_words_for_units(text):
    """A unit may be written out, in the plural, short, and in any case."""
    assert parse(text) == 7_200_000


@pytest.mark.parametrize("text", ["1h30m", "1h 30m", "1 hour, 30 minutes", "1 hour and 30 min"])
def test_several_units(text):
    """Units may follow each other with or without spaces, commas and the word and."""
    assert parse(text) == 5_400_000


@pytest.mark.parametrize("text", ["1.5h", "1,5 hours"])
def test_fractions(text):
    """A number may have decimals after a dot or a comma."""
    assert parse(text) == 5_400_000


@pytest.mark.parametrize(("text", "milliseconds"), [("0.0005s", 1), ("0.0004s", 0), ("1.5ms", 2)])
def test_rounding(text, milliseconds):
    """Parts of a millisecond are rounded, halves up."""
    assert parse(text) == milliseconds


def test_negative():
    """A minus sign applies to the whole duration."""
    assert parse("-1h 30m") == -5_400_000


def test_plus_sign():
    """A plus sign changes nothing."""
    assert parse("+ 90s") == 90_000


def test_unknown_unit():
    """An unknown unit is refused by name."""
    with pytest.raises(DurationError, match="'months' is not a unit"):
        parse("2 months")


@pytest.mark.parametrize("text", ["1m 1h", "1h 2h"])
def test_order_of_units(text):
    """A unit may not follow a shorter one or itself."""
    with pytest.raises(DurationError, match="hour follows"):
        parse(text)


@pytest.mark.parametrize("text", ["", "  ", "-", "1h,", "1h and"])
def test_unfinished(text):
    """A duration may not be empty or end with a comma."""
    with pytest.raises(DurationError, match="ends where"):
        parse(text)


@pytest.mark.parametrize("text", ["h", "1", "1h 5", "--1h"])
def test_number_without_unit(text):
    """Every number needs a unit and every unit a number."""
    with pytest.raises(DurationError, match="not a number with a unit"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("1:02", 62_000), ("90:00", 5_400_000), ("1:02:03", 3_723_000), ("100:00:00", 360_000_000)],
)
def test_clock(text, milliseconds):
    """Two numbers are minutes and seconds, three are hours, minutes and seconds."""
    assert parse(text) == milliseconds


@pytest.mark.parametrize(("text", "rest"), [("0:00.5", 500), ("0:00,25", 250), ("0:00.007", 7)])
def test_clock_decimals(text, rest):
    """The seconds of a clock may have up to three decimals."""
    assert parse(text) == rest


def test_negative_clock():
    """A clock may have a minus sign."""
    assert parse("-0:30") == -30_000


@pytest.mark.parametrize("text", ["0:60", "1:60:00", "1:5:00"])
def test_clock_out_of_range(text):
    """Seconds, and minutes after hours, have two digits up to 59."""
    with pytest.raises(DurationError, match="between 00 and 59"):
        parse(text)


@pytest.mark.parametrize("text", ["0:59", "59:59"])
def test_clock_highest(text):
    """59 seconds are allowed."""
    assert parse(text) % 60_000 == 59_000


@pytest.mark.parametrize("text", ["1:2", ":30", "1:2:3:04", "0:00.1234"])
def test_malformed_clock(text):
    """A malformed clock is refused."""
    with pytest.raises(DurationError, match="h:mm:ss"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P1W", 604_800_000),
        ("P2D", 172_800_000),
        ("PT2H", 7_200_000),
        ("PT3M", 180_000),
        ("PT0.5S", 500),
        ("p1dt1h", 90_000_000),
        ("-PT1S", -1_000),
    ],
)
def test_iso(text, milliseconds):
    """Durations of ISO 8601 are read, in upper and lower case, with a sign."""
    assert parse(text) == milliseconds


@pytest.mark.parametrize("text", ["P", "PT", "P1DT", "P1Y", "P1H", "PT1D"])
def test_malformed_iso(text):
    """A malformed duration of ISO 8601, or one with years, is refused."""
    with pytest.raises(DurationError, match="PnDTnHnMnS"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "unit", "milliseconds"),
    [("90", "minutes", 5_400_000), ("-1,5", "h", -5_400_000), ("2h", "s", 7_200_000)],
)
def test_number_alone(text, unit, milliseconds):
    """A number alone has the unit that is given for it; others keep their own."""
    assert parse(text, unit=unit) == milliseconds


def test_unknown_unit_for_a_number_alone():
    """An unknown unit for a number alone is refused by name."""
    with pytest.raises(DurationError, match="'moons' is not a unit"):
        parse("3", unit="moons")
