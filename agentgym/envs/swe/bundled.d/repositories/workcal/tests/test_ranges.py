"""Ranges of dates."""

from datetime import date

import pytest
from workcal import DateRange


def days(start, end):
    """Return a range of days of March 2024."""
    return DateRange(date(2024, 3, start), date(2024, 3, end))


def test_length():
    """A range includes both its ends."""
    assert len(days(1, 31)) == 31


def test_one_day():
    """A range may be a single day."""
    assert list(days(5, 5)) == [date(2024, 3, 5)]


def test_backwards():
    """A range whose end lies before its start is refused."""
    with pytest.raises(ValueError, match="lies before the start"):
        days(5, 4)


def test_iteration():
    """A range yields its days in order."""
    assert [day.day for day in days(3, 6)] == [3, 4, 5, 6]


def test_contains():
    """Both ends of a range belong to it, their neighbours do not."""
    assert [date(2024, 3, n) in days(3, 5) for n in (2, 3, 5, 6)] == [False, True, True, False]


def test_contains_other_things():
    """What is no date is in no range."""
    assert "2024-03-04" not in days(3, 5)


def test_month():
    """The range of a month ends with its last day."""
    assert str(DateRange.of_month(2024, 2)) == "2024-02-01..2024-02-29"


@pytest.mark.parametrize(
    ("quarter", "text"),
    [(1, "2023-01-01..2023-03-31"), (2, "2023-04-01..2023-06-30"), (4, "2023-10-01..2023-12-31")],
)
def test_quarter(quarter, text):
    """A quarter has three months."""
    assert str(DateRange.of_quarter(2023, quarter)) == text


def test_year():
    """The range of a leap year has 366 days."""
    assert len(DateRange.of_year(2024)) == 366


@pytest.mark.parametrize("day", [4, 6, 10])
def test_week(day):
    """A week goes from Monday to Sunday, whichever of its days is given."""
    assert DateRange.of_week(date(2024, 3, day)) == days(4, 10)


@pytest.mark.parametrize(("other", "shared"), [((5, 8), True), ((6, 8), False), ((1, 1), True)])
def test_overlaps(other, shared):
    """Ranges overlap if they share a day, be it only one at the end."""
    assert days(1, 5).overlaps(days(*other)) is shared
    assert days(*other).overlaps(days(1, 5)) is shared


def test_intersection():
    """The intersection has the days that are in both ranges."""
    assert days(1, 10).intersection(days(5, 20)) == days(5, 10)


def test_no_intersection():
    """Ranges without a common day have no intersection."""
    assert days(1, 5).intersection(days(6, 9)) is None


def test_union_of_neighbours():
    """Ranges that follow each other can be united, in both orders."""
    assert days(1, 5).union(days(6, 9)) == days(1, 9)
    assert days(6, 9).union(days(1, 5)) == days(1, 9)


def test_union_of_nested_ranges():
    """The union of a range with a part of it is the range."""
    assert days(1, 9).union(days(3, 5)) == days(1, 9)


def test_union_with_gap():
    """Ranges with a day between them cannot be united."""
    with pytest.raises(ValueError, match="gap"):
        days(1, 5).union(days(7, 9))


def test_shift():
    """A range can be moved, also into another month."""
    assert str(days(30, 31).shift(2)) == "2024-04-01..2024-04-02"


def test_shift_back():
    """A negative number moves a range back."""
    assert days(5, 6).shift(-4) == days(1, 2)


def test_by_month():
    """A range is split at the ends of the months."""
    whole = DateRange(date(2023, 12, 30), date(2024, 2, 1))
    assert [str(part) for part in whole.by_month()] == [
        "2023-12-30..2023-12-31",
        "2024-01-01..2024-01-31",
        "2024-02-01..2024-02-01",
    ]


def test_order():
    """Ranges are ordered by their start, then by their end."""
    assert sorted([days(2, 3), days(1, 9), days(1, 2)]) == [days(1, 2), days(1, 9), days(2, 3)]
