"""Sets as text."""

import pytest
from spanset import SpanSet, parse


def test_both_ends():
    """A range in text includes both its ends."""
    assert list(parse("1-3")) == [1, 2, 3]


def test_spaces():
    """Spaces around numbers, dashes and commas are ignored."""
    assert parse(" 1 - 3 , 7 ") == parse("1-3,7")


def test_negative_numbers():
    """Numbers may be negative."""
    assert list(parse("-3--1,-7")) == [-7, -3, -2, -1]


@pytest.mark.parametrize("text", ["", "  "])
def test_empty_text(text):
    """An empty text is the empty set."""
    assert parse(text) == SpanSet()


@pytest.mark.parametrize("text", ["1,", "a", "1-", "1-2-3", "1 2"])
def test_malformed(text):
    """What is neither a number nor a range is refused."""
    with pytest.raises(ValueError, match="neither"):
        parse(text)


def test_backwards():
    """A range that runs backwards is refused."""
    with pytest.raises(ValueError, match="'5-3' runs backwards"):
        parse("1, 5-3")


def test_range_of_one():
    """A range of one number is that number."""
    assert str(parse("4-4")) == "4"


@pytest.mark.parametrize("text", ["1-2", "1,3", "-5--2,0", ""])
def test_written_as_read(text):
    """A set is written as it was read."""
    assert str(parse(text)) == text
