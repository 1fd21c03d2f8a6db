"""Which formulas look at which cells, and in which order they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import CellAddress


class Place(NamedTuple):
    """A cell of a workbook: the key of its sheet and its address."""

    sheet: str
    cell: CellAddress


class Span(NamedTuple):
    """An area of a workbook."""

    sheet: str
    area: Area


class Dependencies:
    """Which formulas look at which areas."""

    def __init__(self) -> None:
        self._looks_at: dict[Place, tuple[Span, ...]] = {}
        self._by_cell: dict[Place, dict[Place, None]] = {}
        self._by_area: dict[Span, dict[Place, None]] = {}

    def set(self, place: Place, spans: Iterable[Span]) -> None:
        """Say what the formula of a cell looks at; nothing if it has none any more."""
        for span in self._looks_at.pop(place, ()):
            watchers = self._watchers(span)
            watchers.pop(place, None)
            if not watchers and span.area.size > 1:
                del self._by_area[span]
        found = tuple(dict.fromkeys(spans))
        if found:
            self._looks_at[place] = found
        for span in found:
            self._watchers(span)[place] = None

    def _watchers(self, span: Span) -> dict[Place, None]:
        if span.area.size == 1:
            return self._by_cell.setdefault(Place(span.sheet, span.area.corner), {})
        return self._by_area.setdefault(span, {})

    def looks_at(self, place: Place) -> tuple[Span, ...]:
        """Return what a formula looks at, in the order in which it stands there."""
        return self._looks_at.get(place, ())

    def watchers(self, place: Place) -> list[Place]:
        """Return the formulas that look at a cell directly, sorted."""
        found = dict(self._by_cell.get(place, {}))
        for span, places in self._by_area.items():
            if span.sheet == place.sheet and place.cell in span.area:
                found.update(places)
        return sorted(found)

    def affected(self, changed: Iterable[Place]) -> list[Place]:
        """Return the changed cells and all formulas that depend on them."""
        found = dict.fromkeys(changed)
        waiting = list(found)
        while waiting:
            for place in self.watchers(waiting.pop()):
                if place not in found:
                    found[place] = None
                    waiting.append(place)
        return list(found)


def groups(places: Sequence[Place], needs: Callable[[Place], Iterable[Place]]) -> list[list[Place]]:
    """Return cells in an order in which they can be computed.

    Cells that need each other are one group; see :func:`is_circle`. (Tarjan, 1972.)

    Args:
        places: The cells.
        needs: Gives those of them that a cell needs.
    """
    number: dict[Place, int] = {}
    low: dict[Place, int] = {}
    open_places: dict[Place, None] = {}
    found: list[list[Place]] = []
    for start in places:
        if start in number:
            continue
        number[start] = low[start] = len(number)
        open_places[start] = None
        path = [(start, iter(needs(start)))]
        while path:
            place, others = path[-1]
            other = next(others, None)
            if other is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[place])
                if low[place] == number[place]:
                    found.append(_closed(open_places, place))
            elif other not in number:
                number[other] = low[other] = len(number)
                open_places[other] = None
                path.append((other, iter(needs(other))))
            elif other in open_places:
                low[place] = min(low[place], number[other])
    return found


def _closed(open_places: dict[Place, None], first: Place) -> list[Place]:
    """Take a finished group off the open cells."""
    group: list[Place] = []
    while True:
        place, _ = open_places.popitem()
        group.append(place)
        if place == first:
            return group


def is_circle(group: Sequence[Place], needs: Callable[[Place], Iterable[Place]]) -> bool:
    """Say whether the cells of a group need each other, or the only one needs itself."""
    return len(group) > 1 or group[0] in needs(group[0])
