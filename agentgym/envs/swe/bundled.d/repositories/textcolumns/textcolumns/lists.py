"""Lists and columns of short texts."""

from __future__ import annotations

from collections.abc import Sequence

from textcolumns.wrapping import wrap


def bullet_list(items: Sequence[str], width: int = 72, bullet: str = "- ") -> list[str]:
    """Return the lines of a list; further lines of an item stand below its text."""
    lines: list[str] = []
    for item in items:
        lines += wrap(item, width, bullet, " " * len(bullet))
    return lines


def numbered_list(items: Sequence[str], width: int = 72, start: int = 1) -> list[str]:
    """Return the lines of a list with numbers, which are aligned to the right."""
    size = len(str(start + len(items) - 1))
    lines: list[str] = []
    for number, item in enumerate(items, start=start):
        lines += wrap(item, width, f"{number:>{size}}. ", " " * (size + 2))
    return lines


def columns(items: Sequence[str], width: int, gap: int = 2) -> list[str]:
    """Set short texts in as many columns as fit, read from top to bottom.

    Args:
        items: The texts.
        width: How wide a line may be; one column is always set.
        gap: How many spaces stand between two columns.

    Returns:
        The lines, without spaces at their ends.
    """
    for count in range(len(items), 0, -1):
        height = -(-len(items) // count)
        parts = [items[start : start + height] for start in range(0, len(items), height)]
        widths = [max(len(item) for item in part) for part in parts]
        if count == 1 or sum(widths) + gap * (len(widths) - 1) <= width:
            break
    else:
        return []
    lines = []
    for row in range(height):
        cells = [
            part[row].ljust(size + gap)
            for part, size in zip(parts, widths, strict=True)
            if row < len(part)
        ]
        lines.append("".join(cells).rstrip())
    return lines
