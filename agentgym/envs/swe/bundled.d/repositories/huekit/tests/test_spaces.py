"""Conversions."""

import pytest
from huekit import Color, spaces

COLORS = [
    ("#ff0000", (0, 1, 0.5), (0, 1, 1)),
    ("#00ff00", (120, 1, 0.5), (120, 1, 1)),
    ("#0000ff", (240, 1, 0.5), (240, 1, 1)),
    ("#ffff00", (60, 1, 0.5), (60, 1, 1)),
    ("#ff00ff", (300, 1, 0.5), (300, 1, 1)),
    ("#808080", (0, 0, 0.50196), (0, 0, 0.50196)),
    ("#000000", (0, 0, 0), (0, 0, 0)),
    ("#ffffff", (0, 0, 1), (0, 0, 1)),
    ("#663333", (0, 1 / 3, 0.3), (0, 0.5, 0.4)),
    ("#cc99ff", (270, 1, 0.8), (270, 0.4, 1)),
]


@pytest.mark.parametrize(("text", "hsl", "hsv"), COLORS)
def test_to_hsl(text, hsl, hsv):
    """Colours are converted to hue, saturation and lightness."""
    assert Color.parse(text).to_hsl() == pytest.approx(hsl, abs=0.0001)


@pytest.mark.parametrize(("text", "hsl", "hsv"), COLORS)
def test_to_hsv(text, hsl, hsv):
    """Colours are converted to hue, saturation and value."""
    assert Color.parse(text).to_hsv() == pytest.approx(hsv, abs=0.0001)


@pytest.mark.parametrize(("text", "hsl", "hsv"), COLORS)
def test_from_hsl(text, hsl, hsv):
    """Colours are made of hue, saturation and lightness."""
    assert Color.from_hsl(*hsl).hex == text


@pytest.mark.parametrize(("text", "hsl", "hsv"), COLORS)
def test_from_hsv(text, hsl, hsv):
    """Colours are made of hue, saturation and value."""
    assert Color.from_hsv(*hsv).hex == text


def test_hue_beyond_the_circle():
    """A hue of more than 360 degrees goes round again."""
    assert Color.from_hsl(480, 1, 0.5) == Color.from_hsl(120, 1, 0.5)


@pytest.mark.parametrize(
    ("rgb", "cmyk"),
    [
        ((1, 0, 0), (0, 1, 1, 0)),
        ((0, 0, 0), (0, 0, 0, 1)),
        ((0.25, 0.5, 0.5), (0.5, 0, 0, 0.5)),
        ((1, 1, 1), (0, 0, 0, 0)),
    ],
)
def test_cmyk(rgb, cmyk):
    """Colours are converted to cyan, magenta, yellow and black, and back."""
    assert spaces.rgb_to_cmyk(*rgb) == pytest.approx(cmyk)
    assert spaces.cmyk_to_rgb(*cmyk) == pytest.approx(rgb)


@pytest.mark.parametrize(
    ("part", "result"), [(0, 0), (0.04045, 0.0031308), (0.5, 0.2140411), (1, 1)]
)
def test_linear(part, result):
    """The gamma of a component is taken out, and put in again."""
    assert spaces.linear(part) == pytest.approx(result, abs=1e-6)
    assert spaces.gamma(result) == pytest.approx(part, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "lab"),
    [
        ("white", (100, 0, 0)),
        ("black", (0, 0, 0)),
        ("red", (53.24, 80.09, 67.20)),
        ("lime", (87.73, -86.18, 83.18)),
        ("blue", (32.30, 79.19, -107.86)),
        ("#050505", (1.37, 0, 0)),
    ],
)
def test_lab(text, lab):
    """Colours are converted to the coordinates of CIE Lab."""
    assert Color.parse(text).to_lab() == pytest.approx(lab, abs=0.02)
