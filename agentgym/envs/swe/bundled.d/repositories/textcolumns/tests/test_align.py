"""Aligning."""

import pytest
from textcolumns import align, align_decimals, justify


@pytest.mark.parametrize(
    ("where", "text"), [("left", "ab   "), ("right", "   ab"), ("center", " ab  ")]
)
def test_align(where, text):
    """A text is filled with spaces on one side or on both."""
    assert align("ab", 5, where) == text


def test_align_default():
    """A text is aligned to the left if nothing else is said."""
    assert align("ab", 3) == "ab "


def test_align_long_text():
    """A text that is too long stays as it is."""
    assert (align("abc", 2, "right"), align("abc", 2, "center")) == ("abc", "abc")


def test_unknown_alignment():
    """An unknown alignment is refused."""
    with pytest.raises(ValueError, match="left, right, center"):
        align("a", 2, "middle")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a b c", "a   b  c"),
        ("a  b", "a      b"),
        ("aa bb cc", "aa bb cc"),
        ("aaaa bbbb", "aaaa bbbb"),
        ("word", "word"),
        ("", ""),
    ],
)
def test_justify(text, line):
    """The words of a line are spread, the first gaps being wider."""
    assert justify(text, 8) == line


def test_align_decimals():
    """The points of numbers stand below each other."""
    assert align_decimals(["1.5", "22", "3.125"]) == [" 1.5  ", "22    ", " 3.125"]


def test_align_decimal_commas():
    """Decimals may follow a comma."""
    assert align_decimals(["1,5", "10"], ",") == [" 1,5", "10  "]


def test_align_no_decimals():
    """Without numbers there is nothing to align."""
    assert align_decimals([]) == []
