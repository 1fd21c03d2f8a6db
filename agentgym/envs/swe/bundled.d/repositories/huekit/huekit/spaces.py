"""Conversions between colour spaces; all components go from 0 to 1, hues from 0 to 360."""

from __future__ import annotations

Triple = tuple[float, float, float]

WHITE = (0.95047, 1.0, 1.08883)
"""The XYZ coordinates of white under daylight (D65)."""
EPSILON = 216 / 24389
KAPPA = 24389 / 27


def hue_of(red: float, green: float, blue: float) -> float:
    """Compute the hue in degrees; greys have the hue 0."""
    high, low = max(red, green, blue), min(red, green, blue)
    spread = high - low
    if spread == 0:
        return 0.0
    if high == red:
        return 60 * ((green - blue) / spread % 6)
    if high == green:
        return 60 * ((blue - red) / spread + 2)
    return 60 * ((red - green) / spread + 4)


def rgb_to_hsl(red: float, green: float, blue: float) -> Triple:
    """Convert to hue, saturation and lightness."""
    high, low = max(red, green, blue), min(red, green, blue)
    lightness = (high + low) / 2
    room = 1 - abs(2 * lightness - 1)
    saturation = (high - low) / room if room else 0.0
    return hue_of(red, green, blue), saturation, lightness


def hsl_to_rgb(hue: float, saturation: float, lightness: float) -> Triple:
    """Convert from hue, saturation and lightness."""
    chroma = saturation * (1 - abs(2 * lightness - 1))
    return _from_chroma(hue, chroma, lightness - chroma / 2)


def rgb_to_hsv(red: float, green: float, blue: float) -> Triple:
    """Convert to hue, saturation and value."""
    high, low = max(red, green, blue), min(red, green, blue)
    return hue_of(red, green, blue), (high - low) / high if high else 0.0, high


def hsv_to_rgb(hue: float, saturation: float, value: float) -> Triple:
    """Convert from hue, saturation and value."""
    chroma = saturation * value
    return _from_chroma(hue, chroma, value - chroma)


def _from_chroma(hue: float, chroma: float, base: float) -> Triple:
    """Build a colour of its hue, the spread of its components and the least of them."""
    sector = hue % 360 / 60
    middle = chroma * (1 - abs(sector % 2 - 1))
    red, green, blue = [
        (chroma, middle, 0.0),
        (middle, chroma, 0.0),
        (0.0, chroma, middle),
        (0.0, middle, chroma),
        (middle, 0.0, chroma),
        (chroma, 0.0, middle),
    ][int(sector)]
    return red + base, green + base, blue + base


def rgb_to_cmyk(red: float, green: float, blue: float) -> tuple[float, float, float, float]:
    """Convert to cyan, magenta, yellow and black."""
    black = 1 - max(red, green, blue)
    if black == 1:
        return 0.0, 0.0, 0.0, 1.0
    cyan, magenta, yellow = ((1 - part - black) / (1 - black) for part in (red, green, blue))
    return cyan, magenta, yellow, black


def cmyk_to_rgb(cyan: float, magenta: float, yellow: float, black: float) -> Triple:
    """Convert from cyan, magenta, yellow and black."""
    return (1 - cyan) * (1 - black), (1 - magenta) * (1 - black), (1 - yellow) * (1 - black)


def linear(part: float) -> float:
    """Undo the gamma of a component of sRGB (IEC 61966-2-1)."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def gamma(part: float) -> float:
    """Apply the gamma of sRGB to a linear component."""
    return part * 12.92 if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def rgb_to_xyz(red: float, green: float, blue: float) -> Triple:
    """Convert to CIE XYZ."""
    r, g, b = linear(red), linear(green), linear(blue)
    return (
        0.4124564 * r + 0.3575761 * g + 0.1804375 * b,
        0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        0.0193339 * r + 0.1191920 * g + 0.9503041 * b,
    )


def xyz_to_lab(x: float, y: float, z: float) -> Triple:
    """Convert CIE XYZ to CIE Lab: lightness from 0 to 100, green to red, blue to yellow."""

    def curve(ratio: float) -> float:
        return ratio ** (1 / 3) if ratio > EPSILON else (KAPPA * ratio + 16) / 116

    fx, fy, fz = (curve(part / white) for part, white in zip((x, y, z), WHITE, strict=True))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
