"""Single spans."""

import pytest
from spanset import Span


def test_length():
    """A span holds its start but not its end."""
    assert len(Span(3, 7)) == 4


@pytest.mark.parametrize("end", [2, 3])
def test_empty(end):
    """A span without numbers is refused."""
    with pytest.raises(ValueError, match="must be larger"):
        Span(3, end)


def test_contains():
    """The start of a span belongs to it, the end does not."""
    assert [n in Span(3, 5) for n in (2, 3, 4, 5)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("other", "overlaps", "touches"),
    [(Span(4, 9), True, True), (Span(5, 9), False, True), (Span(6, 9), False, False)],
)
def test_neighbours(other, overlaps, touches):
    """Spans that only meet at a border touch without overlapping, in both orders."""
    assert (Span(1, 5).overlaps(other), other.overlaps(Span(1, 5))) == (overlaps, overlaps)
    assert (Span(1, 5).touches(other), other.touches(Span(1, 5))) == (touches, touches)


def test_covers():
    """A span covers itself and its parts, but nothing that goes beyond."""
    span = Span(1, 5)
    others = (Span(1, 5), Span(2, 4), Span(0, 3), Span(3, 6))
    assert [span.covers(other) for other in others] == [True, True, False, False]


@pytest.mark.parametrize(("other", "gap"), [(Span(8, 9), 3), (Span(5, 9), 0), (Span(2, 3), 0)])
def test_gap(other, gap):
    """The gap between two spans is the number of numbers between them, in both orders."""
    assert (Span(1, 5).gap(other), other.gap(Span(1, 5))) == (gap, gap)


def test_split():
    """A span is split before a number."""
    assert Span(1, 5).split(2) == (Span(1, 2), Span(2, 5))


@pytest.mark.parametrize("at", [1, 5])
def test_split_at_the_end(at):
    """A span cannot be split so that a part is empty."""
    with pytest.raises(ValueError, match="does not lie inside"):
        Span(1, 5).split(at)


def test_text():
    """The text of a span shows its first and last number."""
    assert str(Span(1, 5)) == "1..4"
