"""What a diff consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

NO_NEWLINE = "\\ No newline at end of file"
SWAPPED = {" ": " ", "-": "+", "+": "-"}


class Line(NamedTuple):
    """A line of a hunk."""

    mark: str
    """A blank for context, ``-`` for a line that goes, ``+`` for one that comes."""
    text: str
    """The line with its newline; only the last line of a text may lack it."""


@dataclass(frozen=True)
class Hunk:
    """One place where two texts differ, with some lines around it."""

    old_start: int
    """Number of its first line in the old text, from 1; the line before it if it has none there."""
    new_start: int
    lines: tuple[Line, ...]

    @property
    def old(self) -> list[str]:
        """Its lines in the old text."""
        return [line.text for line in self.lines if line.mark != "+"]

    @property
    def new(self) -> list[str]:
        """Its lines in the new text."""
        return [line.text for line in self.lines if line.mark != "-"]

    @property
    def header(self) -> str:
        """The line with the places, such as ``@@ -1,3 +1,4 @@``; a count of 1 is left out."""
        old = _place(self.old_start, len(self.old))
        return f"@@ -{old} +{_place(self.new_start, len(self.new))} @@"

    def reversed(self) -> Hunk:
        """Make the hunk that takes this one back."""
        lines = tuple(Line(SWAPPED[line.mark], line.text) for line in self.lines)
        return Hunk(self.new_start, self.old_start, _removals_first(lines))

    def render(self) -> str:
        """Write the hunk as it stands in a diff."""
        pieces = [self.header + "\n"]
        for line in self.lines:
            pieces.append(line.mark + line.text)
            if not line.text.endswith("\n"):
                pieces.append(f"\n{NO_NEWLINE}\n")
        return "".join(pieces)


@dataclass
class Patch:
    """The changes of one file."""

    old_name: str
    new_name: str
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Number of lines that come."""
        return sum(line.mark == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """Number of lines that go."""
        return sum(line.mark == "-" for hunk in self.hunks for line in hunk.lines)

    def reversed(self) -> Patch:
        """Make the patch that takes this one back."""
        return Patch(self.new_name, self.old_name, [hunk.reversed() for hunk in self.hunks])

    def render(self) -> str:
        """Write the patch as a unified diff; empty if there are no hunks."""
        if not self.hunks:
            return ""
        head = f"--- {self.old_name}\n+++ {self.new_name}\n"
        return head + "".join(hunk.render() for hunk in self.hunks)


def split_lines(text: str) -> list[str]:
    """Split a text at newlines only, keeping them; other line separators are characters."""
    lines = [piece + "\n" for piece in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _place(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"


def _removals_first(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Put removed lines before added ones within each run of changes."""
    ordered: list[Line] = []
    added: list[Line] = []
    for line in lines:
        if line.mark == "+":
            added.append(line)
            continue
        if line.mark == " ":
            ordered += added
            added = []
        ordered.append(line)
    return tuple(ordered + added)
