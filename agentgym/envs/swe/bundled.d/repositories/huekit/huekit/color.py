"""Colours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from huekit import spaces

NAMES = {
    "black": "#000000",
    "silver": "#c0c0c0",
    "gray": "#808080",
    "white": "#ffffff",
    "maroon": "#800000",
    "red": "#ff0000",
    "purple": "#800080",
    "fuchsia": "#ff00ff",
    "green": "#008000",
    "lime": "#00ff00",
    "olive": "#808000",
    "yellow": "#ffff00",
    "navy": "#000080",
    "blue": "#0000ff",
    "teal": "#008080",
    "aqua": "#00ffff",
}
HEX = re.compile(r"#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
CALL = re.compile(r"(rgb|hsl)a?\(([^()]*)\)")
PART = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(%|deg)?")


class ColorError(ValueError):
    """A text or number is no colour."""


@dataclass(frozen=True)
class Color:
    """A colour with components and opacity from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0

    def __post_init__(self) -> None:
        """Refuse components out of range."""
        for name in ("red", "green", "blue", "alpha"):
            if not 0 <= getattr(self, name) <= 1:
                raise ColorError(f"{name} is between 0 and 1, got {getattr(self, name)}")

    @classmethod
    def from_bytes(cls, red: int, green: int, blue: int, alpha: int = 255) -> Color:
        """Make a colour of numbers from 0 to 255."""
        return cls(red / 255, green / 255, blue / 255, alpha / 255)

    @classmethod
    def from_hsl(cls, hue: float, saturation: float, lightness: float, alpha: float = 1.0) -> Color:
        """Make a colour of hue in degrees, saturation and lightness."""
        return cls(*_clipped(spaces.hsl_to_rgb(hue, saturation, lightness)), alpha)

    @classmethod
    def from_hsv(cls, hue: float, saturation: float, value: float, alpha: float = 1.0) -> Color:
        """Make a colour of hue in degrees, saturation and value."""
        return cls(*_clipped(spaces.hsv_to_rgb(hue, saturation, value)), alpha)

    @classmethod
    def parse(cls, text: str) -> Color:
        """Read a colour in any of the notations.

        Raises:
            ColorError: The text is no colour.
        """
        text = text.strip().lower()
        text = NAMES.get(text, text)
        if match := HEX.fullmatch(text):
            digits = match[1]
            if len(digits) < 6:
                digits = "".join(digit * 2 for digit in digits)
            return cls.from_bytes(*bytes.fromhex(digits))
        if match := CALL.fullmatch(text):
            return _parse_call(match[1], match[2], text)
        raise ColorError(f"{text!r} is not a colour such as #ff8000")

    @property
    def bytes(self) -> tuple[int, int, int]:
        """The components as numbers from 0 to 255."""
        return _byte(self.red), _byte(self.green), _byte(self.blue)

    @property
    def hex(self) -> str:
        """The notation ``#rrggbb``, or ``#rrggbbaa`` if it is not opaque."""
        text = "#{:02x}{:02x}{:02x}".format(*self.bytes)
        return text if self.alpha == 1 else f"{text}{_byte(self.alpha):02x}"

    @property
    def css(self) -> str:
        """The notation ``rgb(r, g, b)``, or ``rgba(r, g, b, a)`` if it is not opaque."""
        inner = ", ".join(str(part) for part in self.bytes)
        return f"rgb({inner})" if self.alpha == 1 else f"rgba({inner}, {round(self.alpha, 3):g})"

    @property
    def rgb(self) -> spaces.Triple:
        """The three components."""
        return self.red, self.green, self.blue

    def to_hsl(self) -> spaces.Triple:
        """Convert to hue, saturation and lightness."""
        return spaces.rgb_to_hsl(*self.rgb)

    def to_hsv(self) -> spaces.Triple:
        """Convert to hue, saturation and value."""
        return spaces.rgb_to_hsv(*self.rgb)

    def to_lab(self) -> spaces.Triple:
        """Convert to CIE Lab."""
        return spaces.xyz_to_lab(*spaces.rgb_to_xyz(*self.rgb))

    def with_alpha(self, alpha: float) -> Color:
        """Make the same colour with another opacity."""
        return Color(*self.rgb, alpha)

    def mix(self, other: Color, share: float = 0.5) -> Color:
        """Mix with another colour, of which the result has a share from 0 to 1."""
        if not 0 <= share <= 1:
            raise ColorError(f"share is between 0 and 1, got {share}")
        pairs = zip((*self.rgb, self.alpha), (*other.rgb, other.alpha), strict=True)
        red, green, blue, alpha = (a + (b - a) * share for a, b in pairs)
        return Color(*_clipped((red, green, blue)), _clip(alpha))

    def over(self, ground: Color) -> Color:
        """Put this colour over another one and return what is seen."""
        alpha = self.alpha + ground.alpha * (1 - self.alpha)
        if alpha == 0:
            return Color(0, 0, 0, 0)
        seen = (
            (top * self.alpha + below * ground.alpha * (1 - self.alpha)) / alpha
            for top, below in zip(self.rgb, ground.rgb, strict=True)
        )
        return Color(*_clipped(seen), alpha)

    def lighten(self, amount: float) -> Color:
        """Raise the lightness (of HSL) by an amount, at most to white."""
        hue, saturation, lightness = self.to_hsl()
        return Color.from_hsl(hue, saturation, min(max(lightness + amount, 0), 1), self.alpha)

    def darken(self, amount: float) -> Color:
        """Lower the lightness by an amount, at most to black."""
        return self.lighten(-amount)

    def saturate(self, amount: float) -> Color:
        """Raise the saturation (of HSL) by an amount; negative ones lower it."""
        hue, saturation, lightness = self.to_hsl()
        return Color.from_hsl(hue, min(max(saturation + amount, 0), 1), lightness, self.alpha)

    def rotate(self, degrees: float) -> Color:
        """Turn the hue round the colour wheel."""
        hue, saturation, lightness = self.to_hsl()
        return Color.from_hsl((hue + degrees) % 360, saturation, lightness, self.alpha)

    def invert(self) -> Color:
        """Make the negative."""
        return Color(1 - self.red, 1 - self.green, 1 - self.blue, self.alpha)

    def __repr__(self) -> str:
        """Show the colour in hexadecimal notation."""
        return f"Color({self.hex!r})"


def _parse_call(name: str, inner: str, text: str) -> Color:
    """Read the numbers of ``rgb(...)`` or ``hsl(...)``; values out of range are clipped."""
    parts = [PART.fullmatch(part.strip()) for part in inner.split(",")]
    if len(parts) not in (3, 4) or None in parts:
        raise ColorError(f"{text!r} has not three or four numbers")
    numbers = [(float(part[1]), part[2]) for part in parts if part is not None]
    alpha = 1.0
    if len(numbers) == 4:
        value, unit = numbers.pop()
        alpha = _clip(value / 100 if unit == "%" else value)
    if name == "rgb":
        scaled = [value / (100 if unit == "%" else 255) for value, unit in numbers]
        return Color(*_clipped(scaled), alpha)
    if numbers[1][1] != "%" or numbers[2][1] != "%":
        raise ColorError(f"{text!r}: saturation and lightness are percentages")
    saturation, lightness = _clip(numbers[1][0] / 100), _clip(numbers[2][0] / 100)
    return Color.from_hsl(numbers[0][0], saturation, lightness, alpha)


def _byte(part: float) -> int:
    """Scale to 0 to 255 and round halves up."""
    return int(part * 255 + 0.5)


def _clip(part: float) -> float:
    """Bring a number into the range from 0 to 1."""
    return min(max(part, 0.0), 1.0)


def _clipped(parts: Iterable[float]) -> spaces.Triple:
    """Bring three numbers into the range from 0 to 1."""
    red, green, blue = (_clip(part) for part in parts)
    return red, green, blue
