"""Sheets as comma-separated values."""

from __future__ import annotations

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import MOST_COLUMNS, MOST_ROWS, CellAddress
from cellmill.engine.sheet import Sheet, rows_of
from cellmill.errors import SheetError

SEPARATORS = (",", ";", "\t")
"""What may stand between fields."""


def read_rows(text: str, separator: str = ",") -> list[list[str]]:
    """Return the fields of all lines.

    A field in double quotes may hold separators, line ends and doubled quotes.

    Args:
        text: The lines.
        separator: What stands between fields.

    Raises:
        SheetError: A quote is not closed or stands in the wrong place.
    """
    rows: list[list[str]] = []
    row: list[str] = []
    place, line = 0, 1
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    while place < len(text):
        if text[place] == '"':
            field, end = _quoted(text, place, line)
        else:
            ends = [found for mark in (separator, "\n") if (found := text.find(mark, place)) >= 0]
            end = min(ends, default=len(text))
            field = text[place:end]
        row.append(field)
        line += text.count("\n", place, end)
        if end < len(text) and text[end] == separator:
            place = end + 1
            if place == len(text):
                row.append("")
            elif text[place] == "\n":
                row.append("")
                end = place
            else:
                continue
        elif end < len(text) and text[end] != "\n":
            raise SheetError(f"line {line}: unexpected {text[end]!r} behind a quoted field")
        rows.append(row)
        row = []
        line += 1
        place = end + 1
    if row:
        rows.append(row)
    return [[] if fields == [""] else fields for fields in rows]


def _quoted(text: str, start: int, line: int) -> tuple[str, int]:
    """Return the field in quotes that begins at a place, and where it ends."""
    field, place = "", start + 1
    while True:
        end = text.find('"', place)
        if end < 0:
            raise SheetError(f"line {line}: a quoted field is not closed")
        field += text[place:end]
        if text[end + 1 : end + 2] != '"':
            return field, end + 1
        field += '"'
        place = end + 2


def load_csv(sheet: Sheet, text: str, separator: str = ",", formulas: bool = True) -> None:
    """Type comma-separated values into a sheet, the first field into A1.

    Args:
        sheet: The sheet.
        text: The lines.
        separator: What stands between fields: a comma, a semicolon or a tab.
        formulas: Whether fields that begin with ``=`` are formulas; else they are texts.

    Raises:
        SheetError: The text is malformed or too large.
        FormulaError: A field is no formula.
    """
    _check_separator(separator)
    rows = read_rows(text, separator)
    if len(rows) > MOST_ROWS or any(len(row) > MOST_COLUMNS for row in rows):
        raise SheetError(f"a sheet has at most {MOST_ROWS} rows and {MOST_COLUMNS} columns")
    if not formulas:
        rows = [
            ["'" + text if text.lstrip().startswith("=") else text for text in row] for row in rows
        ]
    sheet.fill_in(rows_of(rows))


def dump_csv(sheet: Sheet, separator: str = ",", formulas: bool = False) -> str:
    """Return a sheet as comma-separated values.

    Args:
        sheet: The sheet.
        separator: What stands between fields.
        formulas: Whether cells are written as they are edited; else as they are shown.
    """
    _check_separator(separator)
    area = sheet.used
    if area is None:
        return ""
    lines = []
    for row in range(area.top, area.bottom + 1):
        line = Area(row, area.left, row, area.right)
        lines.append(separator.join(_field(sheet, cell, separator, formulas) for cell in line))
    return "".join(line + "\n" for line in lines)


def _field(sheet: Sheet, cell: CellAddress, separator: str, formulas: bool) -> str:
    text = sheet[str(cell)] if formulas else sheet.shown(str(cell))
    if any(mark in text for mark in (separator, '"', "\n", "\r")):
        escaped = text.replace('"', '""')
        return f'"{escaped}"'
    return text


def _check_separator(separator: str) -> None:
    if separator not in SEPARATORS:
        raise SheetError(f"expected a comma, a semicolon or a tab, got {separator!r}")
