"""Contrast and difference."""

import pytest
from huekit import Color, contrast, difference, luminance, nearest_name, readable_on
from huekit.measure import adjust_contrast, level

WHITE, BLACK = Color(1, 1, 1), Color(0, 0, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("white", 1), ("black", 0), ("red", 0.2126), ("lime", 0.7152), ("blue", 0.0722)],
)
def test_luminance(text, value):
    """Green is the lightest and blue the darkest of the basic components."""
    assert luminance(Color.parse(text)) == pytest.approx(value, abs=0.0001)


def test_contrast():
    """The contrast of black and white is 21, in both directions."""
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(WHITE, BLACK) == pytest.approx(21)


def test_contrast_of_equal_colors():
    """The contrast of a colour with itself is 1."""
    assert contrast(BLACK, BLACK) == 1


def test_contrast_of_gray():
    """The contrast of a middle grey with white is that of the tables."""
    assert contrast(Color.parse("#767676"), WHITE) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize(
    ("ratio", "name"),
    [(7, "AAA"), (6.99, "AA"), (4.5, "AA"), (4.49, "AA large"), (3, "AA large"), (2.99, "fail")],
)
def test_level(ratio, name):
    """A contrast that just reaches a level has it."""
    assert level(ratio) == name


def test_readable_on():
    """White is readable on dark colours and black on light ones."""
    assert readable_on(Color.parse("navy")) == WHITE
    assert readable_on(Color.parse("yellow")) == BLACK


def test_readable_among_candidates():
    """The candidate with the most contrast is chosen."""
    candidates = [Color.parse("gray"), Color.parse("silver")]
    assert readable_on(BLACK, candidates) == candidates[1]


def test_adjust_contrast_on_white():
    """A colour on a light ground is darkened until its contrast is enough, and not further."""
    color = adjust_contrast(Color.parse("#ff8080"), WHITE)
    assert 4.5 <= contrast(color, WHITE) < 5


def test_adjust_contrast_on_black():
    """A colour on a dark ground is lightened until its contrast is enough, and not further."""
    color = adjust_contrast(Color.parse("#400000"), BLACK)
    assert 4.5 <= contrast(color, BLACK) < 5


def test_adjust_contrast_that_is_enough():
    """A colour whose contrast is enough stays as it is."""
    assert adjust_contrast(Color.parse("navy"), WHITE) == Color.parse("navy")


def test_adjust_contrast_as_far_as_possible():
    """A contrast that cannot be reached leaves white or black."""
    assert adjust_contrast(Color.parse("gray"), Color.parse("#6f6f6f"), ratio=15) == WHITE


def test_difference():
    """The difference of black and white is 100, that of equal colours 0."""
    assert difference(BLACK, WHITE) == pytest.approx(100, abs=0.01)
    assert difference(WHITE, WHITE) == 0


@pytest.mark.parametrize(
    ("text", "name"),
    [("#fe0101", "red"), ("#7a7a80", "gray"), ("#0a0a0a", "black"), ("#00f0f0", "aqua")],
)
def test_nearest_name(text, name):
    """The basic colour that looks most alike is named."""
    assert nearest_name(Color.parse(text)) == name
