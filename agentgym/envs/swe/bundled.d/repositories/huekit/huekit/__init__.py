"""Colours: notations, colour spaces, contrast and palettes."""

from huekit.color import Color, ColorError
from huekit.gradient import Gradient
from huekit.measure import contrast, difference, luminance, nearest_name, readable_on
from huekit.palettes import palette, ramp
from huekit.quantize import closest, quantize

__all__ = [
    "Color",
    "ColorError",
    "Gradient",
    "closest",
    "contrast",
    "difference",
    "luminance",
    "nearest_name",
    "palette",
    "quantize",
    "ramp",
    "readable_on",
]
