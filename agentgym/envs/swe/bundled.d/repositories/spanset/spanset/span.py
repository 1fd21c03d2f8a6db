"""A single interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Span:
    """The whole numbers from ``start`` up to but without ``end``.

    Attributes:
        start: The first number.
        end: The number behind the last one.

    Raises:
        ValueError: The end is not larger than the start.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        """Refuse empty spans: a set without numbers has no spans instead."""
        if self.end <= self.start:
            raise ValueError(f"the end {self.end} must be larger than the start {self.start}")

    def __len__(self) -> int:
        """Return how many numbers it holds."""
        return self.end - self.start

    def __contains__(self, number: object) -> bool:
        """Say whether it holds a number."""
        return isinstance(number, int) and self.start <= number < self.end

    def overlaps(self, other: Span) -> bool:
        """Say whether the spans have a number in common."""
        return self.start < other.end and other.start < self.end

    def touches(self, other: Span) -> bool:
        """Say whether the spans together are a single one."""
        return self.start <= other.end and other.start <= self.end

    def covers(self, other: Span) -> bool:
        """Say whether all numbers of the other span are in this one."""
        return self.start <= other.start and other.end <= self.end

    def gap(self, other: Span) -> int:
        """Return how many numbers lie between the spans; 0 if they touch."""
        return max(self.start - other.end, other.start - self.end, 0)

    def split(self, at: int) -> tuple[Span, Span]:
        """Return the part before a number and the part from it on.

        Raises:
            ValueError: One of the parts would be empty.
        """
        if not self.start < at < self.end:
            raise ValueError(f"{at} does not lie inside {self}")
        return Span(self.start, at), Span(at, self.end)

    def __str__(self) -> str:
        """Return the first and the last number."""
        return f"{self.start}..{self.end - 1}"
