"""Sets of numbers."""

import pytest
from spanset import Span, SpanSet, parse


def test_spans_are_sorted_and_merged():
    """Spans that overlap or touch are put together, whatever their order."""
    spans = [Span(10, 12), Span(3, 5), Span(1, 3), Span(4, 6)]
    assert SpanSet(spans).spans == (Span(1, 6), Span(10, 12))


def test_merge_keeps_the_longer_end():
    """A span inside another one changes nothing."""
    assert SpanSet([Span(1, 9), Span(2, 4)]).spans == (Span(1, 9),)


def test_of_numbers():
    """A set can be made of single numbers."""
    assert SpanSet.of(5, 1, 2).spans == (Span(1, 3), Span(5, 6))


def test_total():
    """The total is the number of numbers."""
    assert parse("1-3,7").total == 4


def test_hull():
    """The hull goes from the first to the last number."""
    assert parse("1-3,7").hull == Span(1, 8)


def test_hull_of_empty_set():
    """The empty set has no hull."""
    assert SpanSet().hull is None


def test_truth():
    """Only the empty set is false."""
    assert (bool(SpanSet()), bool(SpanSet.of(0))) == (False, True)


def test_iteration():
    """A set yields its numbers in ascending order."""
    assert list(parse("7,1-3")) == [1, 2, 3, 7]


def test_equality():
    """Sets with the same numbers are equal and share a hash."""
    assert parse("1-2,3-4") == parse("1-4")
    assert hash(parse("1-2,3-4")) == hash(parse("1-4"))


def test_not_equal_to_spans():
    """A set is not equal to a tuple of its spans."""
    assert parse("1-4") != (Span(1, 5),)


def test_repr():
    """The repr of a set shows its spans."""
    assert repr(parse("1-3,7")) == "SpanSet([1..3, 7..7])"


def test_contains():
    """The in operator knows the borders of all spans."""
    assert [n for n in range(-1, 12) if n in parse("0-2,5,8-9")] == [0, 1, 2, 5, 8, 9]


def test_contains_other_things():
    """What is no whole number is in no set."""
    assert "1" not in parse("1")


def test_find():
    """Find gives the span around a number."""
    assert (parse("1-3,7").find(2), parse("1-3,7").find(5)) == (Span(1, 4), None)


def test_union():
    """The union closes gaps between touching spans."""
    assert str(parse("1-3,9") | parse("4-5")) == "1-5,9"


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ("1-5", "3-9", "3-5"),
        ("1-5", "6-9", ""),
        ("1-5,7-9", "5-7", "5,7"),
        ("1-9", "2,4,6", "2,4,6"),
        ("1-3,5-8", "1-3,8", "1-3,8"),
        ("", "1-3", ""),
    ],
)
def test_intersection(left, right, both):
    """The intersection has the numbers that are in both sets, in either order."""
    assert str(parse(left) & parse(right)) == both
    assert str(parse(right) & parse(left)) == both


@pytest.mark.parametrize(
    ("left", "right", "rest"),
    [
        ("0-9,20-29", "5-24", "0-4,25-29"),
        ("1-5", "3", "1-2,4-5"),
        ("1-5", "", "1-5"),
        ("", "1-5", ""),
        ("1-5", "0-9", ""),
        ("1-5", "1,5", "2-4"),
    ],
)
def test_difference(left, right, rest):
    """The difference has the numbers of the first set that are not in the second."""
    assert str(parse(left) - parse(right)) == rest


def test_symmetric_difference():
    """The symmetric difference has the numbers that are in one set only."""
    assert str(parse("1-5") ^ parse("4-8")) == "1-3,6-8"


@pytest.mark.parametrize(
    ("left", "right", "is_part"), [("2,4", "1-4", True), ("4-5", "1-4", False)]
)
def test_subset(left, right, is_part):
    """A set is a part of another one if all its numbers are in it."""
    assert (parse(left) <= parse(right)) is is_part


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("", "0-9"),
        ("0-9", ""),
        ("3-4", "0-2,5-9"),
        ("-5-1,8-20", "2-7"),
        ("15", "0-9"),
    ],
)
def test_complement(text, rest):
    """The complement within a span has the numbers of the span that are not in the set."""
    assert str(parse(text).complement(Span(0, 10))) == rest


def test_gaps():
    """Gaps lie between the spans only."""
    assert parse("1-3,7,9").gaps() == [Span(4, 7), Span(8, 9)]


def test_shift():
    """A set can be moved."""
    assert str(parse("1-3,7").shift(-2)) == "-1-1,5"


def test_grow():
    """A set grows on both sides of each span."""
    assert str(parse("5,10").grow(2)) == "3-12"


def test_shrink():
    """A negative margin makes spans smaller and removes those that vanish."""
    assert str(parse("1-3,10,20-21").grow(-1)) == "2"


@pytest.mark.parametrize(("width", "text"), [(1, "1-3,6"), (2, "1-6")])
def test_close(width, text):
    """Gaps up to a width are filled."""
    assert str(parse("1-3,6").close(width)) == text


@pytest.mark.parametrize(("size", "span"), [(1, Span(1, 2)), (3, Span(5, 8)), (5, None)])
def test_first_fit(size, span):
    """The first place is found where so many numbers follow each other."""
    assert parse("1-2,5-8").first_fit(size) == span


def test_first_fit_exactly():
    """A span of exactly the size that is needed fits."""
    assert parse("1-2").first_fit(2) == Span(1, 3)
