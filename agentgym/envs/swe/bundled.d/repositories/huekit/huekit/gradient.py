"""Gradients."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from huekit.color import Color, ColorError


class Gradient:
    """Colours at places from 0 to 1, and everything between them.

    Args:
        stops: Pairs of place and colour, or colours alone, which are spread evenly.
    """

    def __init__(self, stops: Sequence[tuple[float, Color] | Color]) -> None:
        if len(stops) < 2:
            raise ColorError("a gradient has at least two stops")
        last = len(stops) - 1
        self.stops: list[tuple[float, Color]] = [
            (number / last, stop) if isinstance(stop, Color) else stop
            for number, stop in enumerate(stops)
        ]
        places = [place for place, _ in self.stops]
        if places != sorted(places) or places[0] < 0 or places[-1] > 1:
            raise ColorError("the places of stops ascend from 0 to 1")

    def at(self, place: float) -> Color:
        """Give the colour at a place; beyond the outermost stops it stays the same."""
        places = [stop for stop, _ in self.stops]
        index = bisect_right(places, place)
        if index == 0:
            return self.stops[0][1]
        if index == len(self.stops):
            return self.stops[-1][1]
        (start, before), (end, after) = self.stops[index - 1], self.stops[index]
        return before.mix(after, (place - start) / (end - start))

    def colors(self, count: int) -> list[Color]:
        """Give evenly spread colours, both ends included."""
        if count < 2:
            raise ColorError(f"at least two colours, got {count}")
        return [self.at(number / (count - 1)) for number in range(count)]

    def reversed(self) -> Gradient:
        """Make the gradient that goes the other way."""
        return Gradient([(1 - place, color) for place, color in reversed(self.stops)])

    def css(self, angle: int = 90) -> str:
        """Write the gradient for a style sheet."""
        stops = ", ".join(f"{color.hex} {place * 100:g}%" for place, color in self.stops)
        return f"linear-gradient({angle}deg, {stops})"
