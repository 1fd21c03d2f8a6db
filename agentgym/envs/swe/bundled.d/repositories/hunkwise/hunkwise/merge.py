"""Merging two changes of one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hunkwise.diff import common_lines
from hunkwise.model import split_lines


@dataclass(frozen=True)
class MergeResult:
    """The outcome of a merge."""

    text: str
    """The merged text; where both sides differ it shows both between markers."""
    conflicts: int
    """Number of such places."""


def merge(
    base: str, ours: str, theirs: str, our_name: str = "ours", their_name: str = "theirs"
) -> MergeResult:
    """Merge two texts that were made from a common one.

    A stretch that only one side changed is taken from it; one that both changed alike is taken
    once; any other is a conflict.
    """
    base_lines, our_lines, their_lines = (split_lines(text) for text in (base, ours, theirs))
    pieces: list[str] = []
    conflicts = 0
    b = o = t = 0
    for next_b, next_o, next_t in _anchors(base_lines, our_lines, their_lines):
        old, ours_new = base_lines[b:next_b], our_lines[o:next_o]
        theirs_new = their_lines[t:next_t]
        if ours_new == theirs_new or theirs_new == old:
            pieces += ours_new
        elif ours_new == old:
            pieces += theirs_new
        else:
            conflicts += 1
            pieces.append(f"<<<<<<< {our_name}\n")
            pieces += _ended(ours_new)
            pieces.append("=======\n")
            pieces += _ended(theirs_new)
            pieces.append(f">>>>>>> {their_name}\n")
        pieces += base_lines[next_b : next_b + 1]
        b, o, t = next_b + 1, next_o + 1, next_t + 1
    return MergeResult("".join(pieces), conflicts)


def _anchors(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> list[tuple[int, int, int]]:
    """Lines that all three texts share, as indices, and the ends of the texts."""
    in_ours = dict(common_lines(base, ours))
    in_theirs = dict(common_lines(base, theirs))
    indices = [index for index in in_ours if index in in_theirs]
    shared = [(index, in_ours[index], in_theirs[index]) for index in indices]
    return [*shared, (len(base), len(ours), len(theirs))]


def _ended(lines: list[str]) -> list[str]:
    """The lines with a newline at the end of the last one."""
    if lines and not lines[-1].endswith("\n"):
        return [*lines[:-1], lines[-1] + "\n"]
    return lines
