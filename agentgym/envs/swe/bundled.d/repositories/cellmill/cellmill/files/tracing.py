"""What a cell is computed from, as an indented list."""

from __future__ import annotations

from cellmill.addresses.cells import CellAddress
from cellmill.engine.dependencies import Place
from cellmill.engine.workbook import Workbook
from cellmill.errors import SheetError
from cellmill.formulas.printer import sheet_prefix
from cellmill.values.conversion import to_text


def trace(book: Workbook, sheet: str, address: str, depth: int = 3) -> str:
    """Return a cell with its formula, and below it, indented, the cells that it looks at.

    A cell that was listed already is marked with ``(above)`` and not opened again.

    Args:
        book: The workbook.
        sheet: The sheet of the cell.
        address: The cell.
        depth: How many steps the list goes down.

    Raises:
        SheetError: The depth is negative, or there is no such sheet.
        AddressError: There is no such cell.
    """
    if depth < 0:
        raise SheetError(f"expected a depth of 0 or more, got {depth}")
    home = book[sheet].name.casefold()
    lines: list[str] = []
    seen: set[Place] = set()
    waiting = [(Place(home, CellAddress.read(address).plain), 0)]
    while waiting:
        place, level = waiting.pop()
        text = "  " * level + _described(book, place, home)
        if place in seen:
            lines.append(text + " (above)")
            continue
        seen.add(place)
        lines.append(text)
        if level < depth:
            below = _looked_at(book, place)
            waiting.extend((other, level + 1) for other in reversed(below))
    return "".join(line + "\n" for line in lines)


def users(book: Workbook, sheet: str, address: str) -> list[str]:
    """Return the cells whose formulas look at a cell directly.

    Cells of other sheets have the name of their sheet in front.
    """
    home = book[sheet].name.casefold()
    place = Place(home, CellAddress.read(address).plain)
    return [_named(book, other, home) for other in book.dependencies.watchers(place)]


def _looked_at(book: Workbook, place: Place) -> list[Place]:
    """Return the cells that a formula looks at and that are not empty, each once."""
    found: dict[Place, None] = {}
    names = {sheet.name.casefold(): sheet for sheet in book}
    for span in book.dependencies.looks_at(place):
        if span.sheet in names:
            cells = names[span.sheet].filled(span.area)
            found.update(dict.fromkeys(Place(span.sheet, cell) for cell, _ in cells))
    return list(found)


def _described(book: Workbook, place: Place, home: str) -> str:
    """Return a cell with its value and its formula."""
    sheet = book[place.sheet]
    value = to_text(sheet.value(str(place.cell)))
    source = sheet[str(place.cell)]
    formula = f"  {source}" if source.startswith("=") else ""
    return f"{_named(book, place, home)}: {value}{formula}".rstrip()


def _named(book: Workbook, place: Place, home: str) -> str:
    """Return the address of a cell, with its sheet if it lies on another one."""
    return sheet_prefix("" if place.sheet == home else book[place.sheet].name) + str(place.cell)
