"""How light colours are, and how different."""

from __future__ import annotations

import math
from collections.abc import Iterable

from huekit.color import NAMES, Color
from huekit.spaces import rgb_to_xyz

LEVELS = ((7.0, "AAA"), (4.5, "AA"), (3.0, "AA large"))


def luminance(color: Color) -> float:
    """Compute the relative luminance: 0 for black, 1 for white."""
    return rgb_to_xyz(*color.rgb)[1]


def contrast(a: Color, b: Color) -> float:
    """Compute the contrast ratio of two opaque colours after WCAG 2: from 1 to 21."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def level(ratio: float) -> str:
    """Name the level of WCAG 2 that a contrast ratio reaches for text."""
    for least, name in LEVELS:
        if ratio >= least:
            return name
    return "fail"


def readable_on(ground: Color, candidates: Iterable[Color] = ()) -> Color:
    """Choose the colour with the most contrast; without candidates white or black."""
    choices = list(candidates) or [Color(1, 1, 1), Color(0, 0, 0)]
    return max(choices, key=lambda color: contrast(color, ground))


def adjust_contrast(color: Color, ground: Color, ratio: float = 4.5, step: float = 0.02) -> Color:
    """Lighten or darken a colour until it has some contrast to its ground, or is white or black."""
    lighter = luminance(readable_on(ground)) > 0.5
    while contrast(color, ground) < ratio:
        lightness = color.to_hsl()[2]
        if lightness >= 1 if lighter else lightness <= 0:
            break
        color = color.lighten(step if lighter else -step)
    return color


def difference(a: Color, b: Color) -> float:
    """Compute the distance in CIE Lab (Delta E of 1976); about 2.3 is just noticeable."""
    return math.dist(a.to_lab(), b.to_lab())


def nearest_name(color: Color) -> str:
    """Name the basic colour that looks most alike."""
    return min(NAMES, key=lambda name: difference(Color.parse(NAMES[name]), color))
