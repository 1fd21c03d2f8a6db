"""Reducing many colours to few.

P. Heckbert, "Color Image Quantization for Frame Buffer Display" (1982): the box of colours with the
largest extent is cut at the median, until there are enough boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from huekit.color import Color, ColorError
from huekit.measure import difference

Box = list[tuple[int, int, int]]


def quantize(colors: Iterable[Color], count: int) -> list[Color]:
    """Choose at most ``count`` colours that stand for all, those of most colours first."""
    if count < 1:
        raise ColorError(f"at least one colour, got {count}")
    pixels = [color.bytes for color in colors]
    boxes: list[Box] = [pixels] if pixels else []
    while len(boxes) < count:
        widest = max(boxes, key=lambda box: extent(box)[0], default=None)
        if widest is None or extent(widest)[0] == 0:
            break
        boxes.remove(widest)
        boxes += split(widest)
    boxes.sort(key=lambda box: (-len(box), average(box)))
    return [Color.from_bytes(*average(box)) for box in boxes]


def extent(box: Box) -> tuple[int, int]:
    """Find the largest spread of a component, and the number of this component."""
    spreads = [max(part) - min(part) for part in zip(*box, strict=True)]
    widest = max(spreads)
    return widest, spreads.index(widest)


def split(box: Box) -> list[Box]:
    """Cut a box at the median of its widest component, never between equal values."""
    _, axis = extent(box)
    ordered = sorted(box, key=lambda pixel: pixel[axis])
    middle = len(ordered) // 2
    while middle > 0 and ordered[middle - 1][axis] == ordered[middle][axis]:
        middle -= 1
    if middle == 0:
        first = ordered[0][axis]
        middle = sum(pixel[axis] == first for pixel in ordered)
    return [ordered[:middle], ordered[middle:]]


def average(box: Box) -> tuple[int, int, int]:
    """Average the colours of a box, rounded down."""
    red, green, blue = (sum(part) // len(box) for part in zip(*box, strict=True))
    return red, green, blue


def closest(color: Color, choices: Sequence[Color]) -> Color:
    """Choose the colour that looks most alike, the first among equals."""
    if not choices:
        raise ColorError("there is no colour to choose from")
    return min(choices, key=lambda choice: difference(choice, color))
