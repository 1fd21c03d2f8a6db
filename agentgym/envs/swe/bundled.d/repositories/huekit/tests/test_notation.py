"""Reading and writing colours."""

import pytest
from huekit import Color, ColorError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("#ff8000", "#ff8000"),
        ("#F80", "#ff8800"),
        ("#f808", "#ff880088"),
        ("#ff800080", "#ff800080"),
        ("#ff8000ff", "#ff8000"),
        (" Teal ", "#008080"),
        ("rgb(255, 128, 0)", "#ff8000"),
        ("rgb(100%, 50%, 0%)", "#ff8000"),
        ("rgba(255, 128, 0, 0.5)", "#ff800080"),
        ("rgba(255, 128, 0, 50%)", "#ff800080"),
        ("hsl(120, 100%, 50%)", "#00ff00"),
        ("hsl(-120deg, 100%, 50%)", "#0000ff"),
        ("hsla(0, 0%, 50%, .25)", "#80808040"),
    ],
)
def test_parse(text, written):
    """Colours are read in all notations."""
    assert Color.parse(text).hex == written


@pytest.mark.parametrize(
    "text", ["", "#ff", "#ff80001", "ff8000", "orangered", "rgb 1 2 3", "#gggggg"]
)
def test_no_color(text):
    """A text in no notation is refused."""
    with pytest.raises(ColorError, match=r"is not a colour such as"):
        Color.parse(text)


@pytest.mark.parametrize("text", ["rgb(1, 2)", "rgb(1, 2, 3, 4, 5)", "rgb(a, b, c)", "hsl()"])
def test_wrong_numbers(text):
    """A notation with too few or too many numbers, or with words, is refused."""
    with pytest.raises(ColorError, match=r"has not three or four numbers"):
        Color.parse(text)


@pytest.mark.parametrize("text", ["hsl(0, 1, 50%)", "hsl(0, 100%, 0.5)"])
def test_hsl_needs_percentages(text):
    """Saturation and lightness without a percent sign are refused."""
    with pytest.raises(ColorError, match=r"saturation and lightness are percentages"):
        Color.parse(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("rgb(300, -5, 0)", "#ff0000"),
        ("rgba(0, 0, 0, 7)", "#000000"),
        ("hsl(0, 200%, 50%)", "#ff0000"),
    ],
)
def test_numbers_are_clipped(text, written):
    """Numbers out of range in a notation are brought into it."""
    assert Color.parse(text).hex == written


@pytest.mark.parametrize("parts", [(1.1, 0, 0), (0, -0.1, 0), (0, 0, 2), (0, 0, 0, 1.5)])
def test_components_out_of_range(parts):
    """A colour made of components out of range is refused."""
    with pytest.raises(ColorError, match=r"is between 0 and 1"):
        Color(*parts)


def test_from_bytes():
    """Numbers from 0 to 255 become components from 0 to 1."""
    assert Color.from_bytes(255, 0, 51) == Color(1.0, 0.0, 0.2)


def test_bytes():
    """Components are rounded to the nearest number from 0 to 255."""
    assert Color(1.0, 0.5, 0.001).bytes == (255, 128, 0)


def test_css():
    """An opaque colour is written with rgb, another one with rgba."""
    assert Color.parse("#ff8000").css == "rgb(255, 128, 0)"
    assert Color(1, 0, 0, 0.5).css == "rgba(255, 0, 0, 0.5)"


def test_repr():
    """A colour shows its hexadecimal notation."""
    assert repr(Color(1, 1, 1)) == "Color('#ffffff')"
