"""Values for spans."""

from spanset import Span, SpanMap


def texts(mapping):
    """Return spans and values as text."""
    return [f"{span}={value}" for span, value in mapping.items()]


def test_get():
    """A number has the value of the span that it lies in."""
    mapping = SpanMap()
    mapping.set(Span(1, 4), "a")
    assert [mapping.get(n) for n in (0, 1, 3, 4)] == [None, "a", "a", None]


def test_default():
    """A number without a value gives the default."""
    assert SpanMap().get(1, "x") == "x"


def test_later_value_wins():
    """A value that is set later replaces earlier ones where they overlap."""
    mapping = SpanMap()
    mapping.set(Span(0, 10), "a")
    mapping.set(Span(4, 6), "b")
    assert texts(mapping) == ["0..3=a", "4..5=b", "6..9=a"]


def test_order():
    """Items are listed in the order of the numbers."""
    mapping = SpanMap()
    mapping.set(Span(5, 6), "b")
    mapping.set(Span(1, 2), "a")
    assert texts(mapping) == ["1..1=a", "5..5=b"]


def test_neighbours_are_joined():
    """Neighbours with the same value become one span."""
    mapping = SpanMap()
    mapping.set(Span(0, 2), "a")
    mapping.set(Span(4, 6), "a")
    mapping.set(Span(2, 4), "a")
    assert texts(mapping) == ["0..5=a"]


def test_neighbours_with_other_values():
    """Neighbours with different values stay apart."""
    mapping = SpanMap()
    mapping.set(Span(0, 2), "a")
    mapping.set(Span(2, 4), "b")
    assert texts(mapping) == ["0..1=a", "2..3=b"]


def test_equal_values_with_gap():
    """Spans with the same value and a gap between them stay apart."""
    mapping = SpanMap()
    mapping.set(Span(0, 2), "a")
    mapping.set(Span(3, 4), "a")
    assert texts(mapping) == ["0..1=a", "3..3=a"]


def test_delete():
    """Deleting takes values away, also from the middle of a span."""
    mapping = SpanMap()
    mapping.set(Span(0, 9), "a")
    mapping.delete(Span(3, 5))
    assert texts(mapping) == ["0..2=a", "5..8=a"]


def test_where():
    """Where gives the numbers that have a value."""
    mapping = SpanMap()
    mapping.set(Span(0, 9), "a")
    mapping.set(Span(3, 5), "b")
    assert str(mapping.where("a")) == "0-2,5-8"
