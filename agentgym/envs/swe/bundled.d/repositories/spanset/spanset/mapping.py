"""Values for spans of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from spanset.sets import SpanSet
from spanset.span import Span

V = TypeVar("V")


class SpanMap(Generic[V]):
    """A mapping from numbers to values in which neighbours mostly share their value."""

    def __init__(self) -> None:
        self._items: list[tuple[Span, V]] = []

    def set(self, span: Span, value: V) -> None:
        """Give all numbers of a span a value; what they had before is lost."""
        self.delete(span)
        self._items.append((span, value))
        self._items.sort(key=lambda item: item[0])
        self._join()

    def delete(self, span: Span) -> None:
        """Take the values of all numbers of a span away."""
        kept: list[tuple[Span, V]] = []
        for old, value in self._items:
            for part in (SpanSet([old]) - SpanSet([span])).spans:
                kept.append((part, value))
        self._items = kept

    def get(self, number: int, default: V | None = None) -> V | None:
        """Return the value of a number, or the default."""
        for span, value in self._items:
            if number in span:
                return value
        return default

    def items(self) -> Iterator[tuple[Span, V]]:
        """Yield the spans with their values in order."""
        yield from self._items

    def where(self, value: V) -> SpanSet:
        """Return the numbers that have a value."""
        return SpanSet(span for span, other in self._items if other == value)

    def _join(self) -> None:
        """Put neighbours together that have the same value."""
        joined: list[tuple[Span, V]] = []
        for span, value in self._items:
            if joined and joined[-1][0].end == span.start and joined[-1][1] == value:
                joined[-1] = (Span(joined[-1][0].start, span.end), value)
            else:
                joined.append((span, value))
        self._items = joined
