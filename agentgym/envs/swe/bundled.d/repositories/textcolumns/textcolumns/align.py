"""Putting text at its place in a line."""

from __future__ import annotations

from collections.abc import Sequence

ALIGNMENTS = ("left", "right", "center")


def align(text: str, width: int, where: str = "left") -> str:
    """Fill a text with spaces up to a width; a longer one stays as it is.

    Args:
        text: The text.
        width: How many characters to fill.
        where: ``left``, ``right`` or ``center``; an odd space goes to the right.

    Returns:
        The filled text.

    Raises:
        ValueError: The alignment is unknown.
    """
    if where not in ALIGNMENTS:
        raise ValueError(f"align must be one of {', '.join(ALIGNMENTS)}, got {where!r}")
    missing = max(width - len(text), 0)
    if where == "left":
        before = 0
    elif where == "right":
        before = missing
    else:
        before = missing // 2
    return " " * before + text + " " * (missing - before)


def justify(text: str, width: int) -> str:
    """Spread the words of a line so that it fills a width; the first gaps get the odd spaces.

    A single word, and a line that is too long, only lose superfluous spaces.
    """
    words = text.split()
    gaps = len(words) - 1
    spaces = width - sum(len(word) for word in words)
    if gaps < 1 or spaces < gaps:
        return " ".join(words)
    size, odd = divmod(spaces, gaps)
    parts = [words[0]]
    for index, word in enumerate(words[1:]):
        parts.append(" " * (size + (1 if index < odd else 0)) + word)
    return "".join(parts)


def align_decimals(numbers: Sequence[str], point: str = ".") -> list[str]:
    """Fill numbers with spaces so that their points stand below each other.

    Args:
        numbers: The numbers as text, some perhaps without a point.
        point: What separates the decimals.

    Returns:
        The numbers, all of the same width.
    """
    parts = [number.partition(point) for number in numbers]
    before = max((len(whole) for whole, _, _ in parts), default=0)
    behind = max((len(dot + rest) for _, dot, rest in parts), default=0)
    return [whole.rjust(before) + (dot + rest).ljust(behind) for whole, dot, rest in parts]
