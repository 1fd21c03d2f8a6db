"""Palettes made of one colour."""

from __future__ import annotations

from huekit.color import Color, ColorError

SCHEMES = {
    "complementary": (0, 180),
    "analogous": (-30, 0, 30),
    "triadic": (0, 120, 240),
    "split": (0, 150, 210),
    "tetradic": (0, 90, 180, 270),
}
"""For each scheme how far its colours are from the first on the colour wheel, in degrees."""


def palette(scheme: str, base: Color) -> list[Color]:
    """Make colours that go with a colour.

    Args:
        scheme: One of ``SCHEMES``.
        base: The colour.
    """
    if scheme not in SCHEMES:
        raise ColorError(f"unknown scheme {scheme!r}, there are {', '.join(SCHEMES)}")
    return [base.rotate(degrees) for degrees in SCHEMES[scheme]]


def ramp(base: Color, count: int, darkest: float = 0.1, lightest: float = 0.9) -> list[Color]:
    """Make shades of a colour from dark to light.

    Args:
        base: The colour.
        count: How many.
        darkest: Lightness of the first.
        lightest: Lightness of the last.
    """
    if count < 1:
        raise ColorError(f"at least one colour, got {count}")
    if not 0 <= darkest <= lightest <= 1:
        raise ColorError("darkest and lightest are between 0 and 1, in this order")
    hue, saturation, _ = base.to_hsl()
    if count == 1:
        return [Color.from_hsl(hue, saturation, (darkest + lightest) / 2)]
    step = (lightest - darkest) / (count - 1)
    return [Color.from_hsl(hue, saturation, darkest + step * number) for number in range(count)]


def distinct(count: int, saturation: float = 0.65, lightness: float = 0.5) -> list[Color]:
    """Make colours that are easily told apart, by even steps round the colour wheel."""
    return [Color.from_hsl(360 * number / count, saturation, lightness) for number in range(count)]
