"""Sets of numbers, kept as spans."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from spanset.span import Span


class SpanSet:
    """A set of whole numbers.

    Args:
        spans: Spans in any order; they may overlap.
    """

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._spans = _merged(spans)
        self._starts = [span.start for span in self._spans]

    @classmethod
    def of(cls, *numbers: int) -> SpanSet:
        """Return the set of these numbers."""
        return cls(Span(number, number + 1) for number in numbers)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans in order, as few as possible."""
        return self._spans

    @property
    def total(self) -> int:
        """How many numbers are in the set."""
        return sum(len(span) for span in self._spans)

    @property
    def hull(self) -> Span | None:
        """The smallest span that holds the whole set; None if the set is empty."""
        if not self._spans:
            return None
        return Span(self._spans[0].start, self._spans[-1].end)

    def __bool__(self) -> bool:
        """Say whether the set has any number."""
        return bool(self._spans)

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers in ascending order."""
        for span in self._spans:
            yield from range(span.start, span.end)

    def __eq__(self, other: object) -> bool:
        """Say whether two sets have the same numbers."""
        return isinstance(other, SpanSet) and self._spans == other._spans

    def __hash__(self) -> int:
        """Return a hash that equal sets share."""
        return hash(self._spans)

    def __repr__(self) -> str:
        """Return the spans."""
        return f"SpanSet([{', '.join(str(span) for span in self._spans)}])"

    def __str__(self) -> str:
        """Return the set as ``parse`` reads it."""
        ends = [(span.start, span.end - 1) for span in self._spans]
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ends)

    def find(self, number: int) -> Span | None:
        """Return the span that holds a number, or None."""
        index = bisect_right(self._starts, number) - 1
        if index >= 0 and number in self._spans[index]:
            return self._spans[index]
        return None

    def __contains__(self, number: object) -> bool:
        """Say whether a number is in the set."""
        return isinstance(number, int) and self.find(number) is not None

    def __or__(self, other: SpanSet) -> SpanSet:
        """Return the numbers that are in either set."""
        return SpanSet((*self._spans, *other._spans))

    def __and__(self, other: SpanSet) -> SpanSet:
        """Return the numbers that are in both sets."""
        found = []
        left = right = 0
        while left < len(self._spans) and right < len(other._spans):
            a, b = self._spans[left], other._spans[right]
            if a.overlaps(b):
                found.append(Span(max(a.start, b.start), min(a.end, b.end)))
            if a.end < b.end:
                left += 1
            else:
                right += 1
        return SpanSet(found)

    def __sub__(self, other: SpanSet) -> SpanSet:
        """Return the numbers of this set that are not in the other one."""
        hull = self.hull
        return self & other.complement(hull) if hull else self

    def __xor__(self, other: SpanSet) -> SpanSet:
        """Return the numbers that are in exactly one of the sets."""
        return (self | other) - (self & other)

    def __le__(self, other: SpanSet) -> bool:
        """Say whether all numbers of this set are in the other one."""
        return self & other == self

    def complement(self, within: Span) -> SpanSet:
        """Return the numbers of a span that are not in the set."""
        found = []
        position = within.start
        for span in self._spans:
            if span.start > position:
                found.append(Span(position, span.start))
            position = max(position, span.end)
        if position < within.end:
            found.append(Span(position, within.end))
        return SpanSet(found) & SpanSet([within])

    def gaps(self) -> list[Span]:
        """Return the spans between the spans of the set."""
        pairs = zip(self._spans, self._spans[1:], strict=False)
        return [Span(a.end, b.start) for a, b in pairs]

    def shift(self, offset: int) -> SpanSet:
        """Return the set with a number added to each of its numbers."""
        return SpanSet(Span(span.start + offset, span.end + offset) for span in self._spans)

    def grow(self, margin: int) -> SpanSet:
        """Return the set with so many numbers added on both sides of each span.

        A negative margin takes numbers away, and spans that have none left with them.
        """
        sized = [(span.start - margin, span.end + margin) for span in self._spans]
        return SpanSet(Span(start, end) for start, end in sized if start < end)

    def close(self, width: int) -> SpanSet:
        """Return the set with the gaps filled that have at most so many numbers."""
        return SpanSet([*self._spans, *(gap for gap in self.gaps() if len(gap) <= width)])

    def first_fit(self, size: int) -> Span | None:
        """Return the first ``size`` numbers in a row, or None if no span is so long."""
        for span in self._spans:
            if len(span) >= size:
                return Span(span.start, span.start + size)
        return None


def _merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in order, those that touch put together."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and merged[-1].touches(span):
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)
