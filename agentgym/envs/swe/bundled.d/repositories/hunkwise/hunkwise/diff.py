"""Making diffs.

The longest common subsequence is found by the greedy algorithm of E. W. Myers, "An O(ND)
Difference Algorithm and Its Variations" (1986).
"""

from __future__ import annotations

from collections.abc import Sequence

from hunkwise.model import Hunk, Line, Patch, split_lines


def make_diff(
    old: str, new: str, old_name: str = "old", new_name: str = "new", context: int = 3
) -> str:
    """Make the unified diff between two texts.

    Args:
        old: The old text.
        new: The new text.
        old_name: Name of the old file in the head.
        new_name: Name of the new file in the head.
        context: Number of equal lines around each change.

    Returns:
        The diff; empty if the texts are equal.
    """
    hunks = make_hunks(split_lines(old), split_lines(new), context)
    return Patch(old_name, new_name, hunks).render()


def make_hunks(old: Sequence[str], new: Sequence[str], context: int = 3) -> list[Hunk]:
    """Make the hunks between two lists of lines.

    Changes with at most twice the context between them share a hunk.
    """
    if context < 0:
        raise ValueError(f"context cannot be negative, got {context}")
    lines = line_changes(old, new)
    changed = [index for index, line in enumerate(lines) if line.mark != " "]
    hunks = []
    for first, last in _groups(changed, 2 * context):
        begin = max(first - context, 0)
        end = min(last + context + 1, len(lines))
        before_old = sum(line.mark != "+" for line in lines[:begin])
        before_new = sum(line.mark != "-" for line in lines[:begin])
        body = tuple(lines[begin:end])
        has_old = any(line.mark != "+" for line in body)
        has_new = any(line.mark != "-" for line in body)
        hunks.append(Hunk(before_old + has_old, before_new + has_new, body))
    return hunks


def line_changes(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    """List the lines of both texts with a mark each; removed lines come before added ones."""
    lines: list[Line] = []
    x = y = 0
    for match_x, match_y in [*common_lines(old, new), (len(old), len(new))]:
        lines += [Line("-", text) for text in old[x:match_x]]
        lines += [Line("+", text) for text in new[y:match_y]]
        if match_x < len(old):
            lines.append(Line(" ", old[match_x]))
        x, y = match_x + 1, match_y + 1
    return lines


def common_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Find a longest common subsequence as pairs of indices into both lists."""
    trace = _search(old, new)
    pairs: list[tuple[int, int]] = []
    x, y = len(old), len(new)
    for distance in range(len(trace) - 1, -1, -1):
        reached = trace[distance]
        diagonal = x - y
        down = diagonal == -distance or (
            diagonal != distance and reached[diagonal - 1] < reached[diagonal + 1]
        )
        before = diagonal + 1 if down else diagonal - 1
        before_x = reached[before]
        before_y = before_x - before
        while x > before_x and y > before_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = before_x, before_y
    return pairs[::-1]


def _search(old: Sequence[str], new: Sequence[str]) -> list[dict[int, int]]:
    """For each number of edits, the furthest x on each diagonal before these edits."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for distance in range(len(old) + len(new) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-distance, distance + 1, 2):
            if diagonal == -distance or (
                diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]
            ):
                x = furthest[diagonal + 1]
            else:
                x = furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= len(old) and y >= len(new):
                return trace
    return trace


def _groups(numbers: Sequence[int], gap: int) -> list[tuple[int, int]]:
    """Join numbers with at most ``gap`` others between them; return first and last of each."""
    groups: list[tuple[int, int]] = []
    for number in numbers:
        if groups and number - groups[-1][1] - 1 <= gap:
            groups[-1] = (groups[-1][0], number)
        else:
            groups.append((number, number))
    return groups
