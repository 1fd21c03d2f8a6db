"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textcolumns.align import ALIGNMENTS, align
from textcolumns.wrapping import wrap

STYLES = ("plain", "pipes", "grid")


@dataclass(frozen=True)
class Column:
    """How a column of a table looks.

    Attributes:
        title: What stands above it.
        align: ``left``, ``right`` or ``center``.
        decimals: How many decimals its numbers have; None writes them as they are.
        most: How wide its text may be before it is wrapped; 0 for no limit.
        empty: What stands for None.
    """

    title: str
    align: str = "left"
    decimals: int | None = None
    most: int = 0
    empty: str = ""

    def __post_init__(self) -> None:
        """Refuse an unknown alignment."""
        if self.align not in ALIGNMENTS:
            raise ValueError(f"align must be one of {', '.join(ALIGNMENTS)}, got {self.align!r}")

    def lines(self, value: object) -> list[str]:
        """Return a value as the lines of a cell."""
        if value is None:
            text = self.empty
        elif self.decimals is not None and isinstance(value, (int, float)):
            text = f"{value:.{self.decimals}f}"
        else:
            text = str(value)
        if self.most > 0:
            return wrap(text, self.most) or [""]
        return text.split("\n")


def format_table(
    rows: Sequence[Sequence[object]], columns: Sequence[Column], style: str = "plain"
) -> str:
    """Set rows in a table.

    Args:
        rows: The rows; each has a value for every column.
        columns: The columns.
        style: ``plain`` with a line below the titles, ``pipes`` as in Markdown, or ``grid``
            with lines everywhere.

    Returns:
        The table, without spaces at the ends of its lines.

    Raises:
        ValueError: A row has the wrong length, or the style is unknown.
    """
    if style not in STYLES:
        raise ValueError(f"style must be one of {', '.join(STYLES)}, got {style!r}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns):
            raise ValueError(f"row {number} has {len(row)} values for {len(columns)} columns")
    header = [column.title.split("\n") for column in columns]
    body = [[c.lines(value) for c, value in zip(columns, row, strict=True)] for row in rows]
    widths = [
        max(len(line) for cells in (header, *body) for line in cells[index])
        for index in range(len(columns))
    ]
    parts = {"plain": _plain, "pipes": _pipes, "grid": _grid}[style](widths, columns)
    between, edge, rule, outer = parts
    blocks = [_row(cells, widths, columns, between, edge) for cells in (header, *body)]
    lines = [outer] if outer else []
    lines += [*blocks[0], rule]
    for block in blocks[1:]:
        lines += block
        if outer:
            lines.append(outer)
    return "\n".join(line.rstrip() for line in lines)


def _row(
    cells: list[list[str]], widths: list[int], columns: Sequence[Column], between: str, edge: str
) -> list[str]:
    """Return the lines of a row; short cells are filled with empty lines."""
    height = max(len(cell) for cell in cells)
    lines = []
    for index in range(height):
        texts = [cell[index] if index < len(cell) else "" for cell in cells]
        placed = [align(t, w, c.align) for t, w, c in zip(texts, widths, columns, strict=True)]
        lines.append(f"{edge} {between.join(placed)} {edge}" if edge else between.join(placed))
    return lines


def _plain(widths: list[int], columns: Sequence[Column]) -> tuple[str, str, str, str]:
    """Return what separates the columns, the edge, the line below the titles and around rows."""
    return "  ", "", "  ".join("-" * width for width in widths), ""


def _pipes(widths: list[int], columns: Sequence[Column]) -> tuple[str, str, str, str]:
    """Return the parts of a Markdown table, whose colons show the alignment."""
    marks = []
    for width, column in zip(widths, columns, strict=True):
        left = ":" if column.align == "center" else "-"
        right = "-" if column.align == "left" else ":"
        marks.append(left + "-" * width + right)
    return " | ", "|", "|" + "|".join(marks) + "|", ""


def _grid(widths: list[int], columns: Sequence[Column]) -> tuple[str, str, str, str]:
    """Return the parts of a table with lines everywhere."""
    outer = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    return " | ", "|", outer.replace("-", "="), outer
