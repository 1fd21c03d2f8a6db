"""Breaking text into lines."""

from __future__ import annotations

from textcolumns.align import align as align_line
from textcolumns.align import justify


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Break a text into lines that are at most so wide.

    Any white space separates words, and a word may be broken behind a hyphen inside it. Words
    that are longer than a line are broken where the line ends.

    Args:
        text: The text.
        width: The width of a line.
        first: What the first line begins with.
        rest: What the other lines begin with.

    Returns:
        The lines; none if there are no words.

    Raises:
        ValueError: There is no room for a character beside what the lines begin with.
    """
    if width <= max(len(first), len(rest)):
        raise ValueError(f"width {width} leaves no room for text")
    lines: list[str] = []
    line = ""
    for piece, glued in _pieces(text):
        joint = "" if glued or not line else " "
        room = width - len(rest if lines else first)
        if line and len(line) + len(joint) + len(piece) > room:
            lines.append((rest if lines else first) + line)
            line, joint = "", ""
            room = width - len(rest)
        while len(piece) > room:
            lines.append((rest if lines else first) + piece[:room])
            piece = piece[room:]
            room = width - len(rest)
        line += joint + piece
    if line:
        lines.append((rest if lines else first) + line)
    return lines


def _pieces(text: str) -> list[tuple[str, bool]]:
    """Return what cannot be broken, and whether it follows the piece before it directly."""
    pieces = []
    for word in text.split():
        start = 0
        for index in range(1, len(word) - 1):
            if word[index] == "-" and word[index - 1].isalpha() and word[index + 1].isalpha():
                pieces.append((word[start : index + 1], start > 0))
                start = index + 1
        pieces.append((word[start:], start > 0))
    return pieces


def fill(text: str, width: int, align: str = "left") -> str:
    """Wrap every paragraph of a text.

    Args:
        text: Paragraphs with empty lines between them.
        width: The width of a line.
        align: ``left``, ``right``, ``center`` or ``justify``, which leaves the last line alone.

    Returns:
        The paragraphs with one empty line between them; no line ends with spaces.
    """
    paragraphs = []
    for block in _paragraphs(text):
        lines = wrap(block, width)
        if align == "justify":
            lines = [justify(line, width) for line in lines[:-1]] + lines[-1:]
        else:
            lines = [align_line(line, width, align).rstrip() for line in lines]
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _paragraphs(text: str) -> list[str]:
    """Return the parts between empty lines."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return ["\n".join(block) for block in blocks if block]


def shorten(text: str, width: int, mark: str = "...") -> str:
    """Cut a text to a width, at the end of a word if possible.

    Args:
        text: The text; its white space becomes single spaces.
        width: The width.
        mark: What shows that something is missing.

    Returns:
        The text.

    Raises:
        ValueError: The mark does not fit.
    """
    if len(mark) > width:
        raise ValueError(f"the mark {mark!r} is wider than {width}")
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    room = width - len(mark)
    head = text[:room]
    if text[room] != " " and " " in head:
        head = head.rpartition(" ")[0]
    return head.rstrip() + mark


def indent(text: str, prefix: str, first: str | None = None) -> str:
    """Put a prefix before every line that is not empty, and perhaps another before the first."""
    lines = text.split("\n")
    parts = []
    for number, line in enumerate(lines):
        start = first if number == 0 and first is not None else prefix
        parts.append(start + line if line.strip() else line)
    return "\n".join(parts)
