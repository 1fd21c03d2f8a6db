"""A sheet as a table of characters."""

from __future__ import annotations

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import CellAddress, column_letters
from cellmill.engine.sheet import Sheet
from cellmill.errors import SheetError

WIDEST = 24
"""Most characters of a column, by default."""


def draw(sheet: Sheet, area: str | None = None, widest: int = WIDEST) -> str:
    """Return a sheet as a table with the letters of columns and the numbers of rows.

    Numbers stand on the right, all other values on the left. What is too long is cut and ends
    in an ellipsis.

    Args:
        sheet: The sheet.
        area: What is drawn; all that is not empty if it is not given.
        widest: Most characters of a column.

    Raises:
        SheetError: Columns would have no room.
    """
    if widest < 3:
        raise SheetError(f"expected a width of at least 3, got {widest}")
    wanted = sheet.used if area is None else Area.read(area)
    if wanted is None:
        return ""
    rows = range(wanted.top, wanted.bottom + 1)
    margin = len(str(wanted.bottom))
    columns = [["", *(str(row) for row in rows)]]
    for column in range(wanted.left, wanted.right + 1):
        cells = [CellAddress(row, column) for row in rows]
        columns.append(_column(sheet, column_letters(column), cells, widest))
    lines = []
    for number, texts in enumerate(zip(*columns, strict=True)):
        line = " | ".join([texts[0].rjust(margin), *texts[1:]])
        lines.append(line.rstrip())
        if number == 0:
            lines.append("-+-".join("-" * max(margin if n == 0 else 0, len(text))
                                    for n, text in enumerate(texts)))  # fmt: skip
    return "".join(line + "\n" for line in lines)


def _column(sheet: Sheet, heading: str, cells: list[CellAddress], widest: int) -> list[str]:
    """Return the texts of a column, all of one width."""
    texts = [_cut(sheet.shown(str(cell)), widest) for cell in cells]
    width = max(len(text) for text in [heading, *texts])
    lines = [heading.center(width)]
    for cell, text in zip(cells, texts, strict=True):
        value = sheet.value(str(cell))
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        lines.append(text.rjust(width) if is_number else text.ljust(width))
    return lines


def _cut(text: str, widest: int) -> str:
    """Return a text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= widest else line[: widest - 1] + "…"
