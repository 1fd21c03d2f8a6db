"""Applying diffs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hunkwise.model import Hunk, Line, Patch, split_lines


class PatchConflict(ValueError):
    """A hunk fits nowhere in the text."""

    def __init__(self, number: int, hunk: Hunk) -> None:
        super().__init__(f"hunk {number} ({hunk.header}) does not fit")
        self.number = number
        self.hunk = hunk


def apply(patch: Patch, text: str, fuzz: int = 0, reach: int | None = None) -> str:
    """Apply the hunks of a patch to a text.

    Each hunk is looked for where its header says, moved by what earlier hunks have added and by
    how far away the hunk before it was found, then ever further from there.

    Args:
        patch: The patch.
        text: The old text.
        fuzz: How many lines of context at each edge of a hunk may differ.
        reach: How many lines away a hunk may be found; ``None`` is anywhere.

    Returns:
        The new text.

    Raises:
        PatchConflict: A hunk is not found.
    """
    lines = split_lines(text)
    offset = 0
    floor = 0
    for number, hunk in enumerate(patch.hunks, start=1):
        expected = hunk.old_start - (1 if hunk.old else 0) + offset
        for dropped in range(fuzz + 1):
            top, body = trim(hunk, dropped)
            found = find(lines, body, expected + top, floor, reach)
            if found is not None:
                break
        else:
            raise PatchConflict(number, hunk)
        old = [line.text for line in body if line.mark != "+"]
        new = [line.text for line in body if line.mark != "-"]
        lines[found : found + len(old)] = new
        offset += found - (expected + top) + len(new) - len(old)
        floor = found + len(new)
    return "".join(lines)


def trim(hunk: Hunk, count: int) -> tuple[int, Sequence[Line]]:
    """Leave out up to ``count`` lines of context at each edge.

    Returns:
        How many lines were left out at the top, and the lines that stay.
    """
    lines = hunk.lines
    top = 0
    while top < min(count, len(lines)) and lines[top].mark == " ":
        top += 1
    bottom = len(lines)
    while bottom > max(len(lines) - count, top) and lines[bottom - 1].mark == " ":
        bottom -= 1
    return top, lines[top:bottom]


def find(
    lines: Sequence[str], body: Sequence[Line], expected: int, floor: int, reach: int | None
) -> int | None:
    """Find where the old lines of a hunk stand, the nearest place to the expected one first."""
    old = [line.text for line in body if line.mark != "+"]
    last = len(lines) - len(old)
    for place in _places(expected, floor, last):
        if reach is not None and abs(place - expected) > reach:
            return None
        if list(lines[place : place + len(old)]) == old:
            return place
    return None


def _places(expected: int, first: int, last: int) -> Iterator[int]:
    """The numbers from first to last, nearest to the expected one first, lower before higher."""
    return iter(sorted(range(first, last + 1), key=lambda place: (abs(place - expected), place)))
