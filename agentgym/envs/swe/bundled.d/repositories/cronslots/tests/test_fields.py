"""Reading expressions."""

import pytest
from cronslots import CronError, Schedule


def test_star():
    """A star stands for all values of a field."""
    schedule = Schedule.parse("* * * * *")
    assert schedule.hour.values == tuple(range(24))
    assert schedule.month.values == tuple(range(1, 13))


def test_star_in_weekday():
    """A star in the last field stands for the seven days of the week."""
    assert Schedule.parse("* * * * *").weekday.values == (0, 1, 2, 3, 4, 5, 6)


def test_list():
    """A list gives its values in ascending order, each once."""
    assert Schedule.parse("30,5,30 * * * *").minute.values == (5, 30)


def test_range():
    """A range includes both its ends."""
    assert Schedule.parse("0 9-12 * * *").hour.values == (9, 10, 11, 12)


def test_range_of_one():
    """A range may begin and end with the same value."""
    assert Schedule.parse("0 9-9 * * *").hour.values == (9,)


def test_step():
    """A step over a star begins with the smallest value."""
    assert Schedule.parse("*/20 * * * *").minute.values == (0, 20, 40)


def test_step_of_months():
    """A step over the months begins with January."""
    assert Schedule.parse("0 0 1 */5 *").month.values == (1, 6, 11)


def test_step_over_range():
    """A step over a range begins with the start of the range."""
    assert Schedule.parse("0 8-18/4 * * *").hour.values == (8, 12, 16)


def test_step_after_value():
    """A step after a single value runs to the end of the field."""
    assert Schedule.parse("50/3 * * * *").minute.values == (50, 53, 56, 59)


def test_names():
    """Months and days of the week may be named, in any case."""
    schedule = Schedule.parse("0 0 * JAN,mar Mon-wed")
    assert (schedule.month.values, schedule.weekday.values) == ((1, 3), (1, 2, 3))


@pytest.mark.parametrize("sunday", ["0", "7", "sun"])
def test_sunday(sunday):
    """Sunday is 0, 7 or sun."""
    assert Schedule.parse(f"0 0 * * {sunday}").weekday.values == (0,)


def test_range_up_to_sunday():
    """A range of days of the week may end with Sunday."""
    assert Schedule.parse("0 0 * * fri-sun").weekday.values == (0, 5, 6)


def test_last_day():
    """The letter L in the third field stands for the last day of the month."""
    day = Schedule.parse("0 0 15,L * *").day
    assert (day.values, day.last) == ((15,), True)


def test_last_day_elsewhere():
    """The letter L is refused in the other fields."""
    with pytest.raises(CronError, match="hour: 'l' is not a value"):
        Schedule.parse("0 L * * *")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60 * * * *", "minute: 60 is not between 0 and 59"),
        ("* 24 * * *", "hour: 24 is not between 0 and 23"),
        ("* * 0 * *", "day of the month: 0 is not between 1 and 31"),
        ("* * 32 * *", "day of the month: 32"),
        ("* * * 13 *", "month: 13"),
        ("* * * * 8", "day of the week: 8"),
        ("-1 * * * *", "minute: '' is not a value"),
        ("x * * * *", "minute: 'x' is not a value"),
        ("1, * * * *", "minute: '' is not a value"),
        ("20-10 * * * *", "'20-10' runs backwards"),
        ("*/0 * * * *", "minute: '0' is not a step"),
        ("*/x * * * *", "minute: 'x' is not a step"),
    ],
)
def test_malformed_field(text, message):
    """A malformed field is an error that names the field."""
    with pytest.raises(CronError, match=message):
        Schedule.parse(text)


@pytest.mark.parametrize("text", ["0 59 * *", "* * * * * *", ""])
def test_number_of_fields(text):
    """An expression has exactly five fields."""
    with pytest.raises(CronError, match="expected 5 fields"):
        Schedule.parse(text)


def test_highest_values():
    """The highest value of each field is accepted."""
    assert Schedule.parse("59 23 31 12 6").minute.values == (59,)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@weekly", "0 0 * * sun"),
        (" @Monthly ", "0 0 1 * *"),
        ("@yearly", "0 0 1 jan *"),
    ],
)
def test_shorthands(short, long):
    """A shorthand means the same as the expression that it is short for."""
    assert Schedule.parse(short) == Schedule.parse(long)


def test_unknown_shorthand():
    """An unknown shorthand is an error that lists the known ones."""
    with pytest.raises(CronError, match="none of @hourly, @daily"):
        Schedule.parse("@often")
