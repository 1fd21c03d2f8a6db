"""A sheet: cells, and what can be done with many of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import MOST_COLUMNS, MOST_ROWS, CellAddress
from cellmill.addresses.lines import LineChange
from cellmill.errors import SheetError
from cellmill.formulas.moving import moved
from cellmill.formulas.nodes import Node
from cellmill.formulas.parser import parse
from cellmill.formulas.printer import formula_text
from cellmill.values.comparison import sort_key
from cellmill.values.conversion import to_text, typed_value
from cellmill.values.formats import format_number
from cellmill.values.kinds import Value

if TYPE_CHECKING:
    from cellmill.engine.workbook import Workbook

Item = TypeVar("Item")


@dataclass
class Cell:
    """What stands in a cell.

    Attributes:
        value: Its value.
        formula: The tree of its formula, or None.
        typed: What was typed, where there is no formula.
    """

    value: Value
    formula: Node | None = None
    typed: str = ""

    @property
    def source(self) -> str:
        """What a user sees when the cell is edited."""
        return self.typed if self.formula is None else formula_text(self.formula)


def cell_of(text: str) -> Cell | None:
    """Return the cell of a typed text, or None if the text is empty.

    Raises:
        FormulaError: It begins with ``=`` and is no formula.
    """
    if text.lstrip().startswith("="):
        return Cell(None, parse(text))
    value = typed_value(text)
    return None if value is None else Cell(value, typed=text)


class Sheet:
    """A sheet of a workbook; made by :meth:`Workbook.add`.

    Attributes:
        name: Its name.
        formats: The formats of cells, by address.
    """

    def __init__(self, name: str, book: Workbook) -> None:
        self.name = name
        self.formats: dict[str, str] = {}
        self._book = book
        self._cells: dict[CellAddress, Cell] = {}

    def __setitem__(self, address: str, content: str | float | bool | None) -> None:
        """Type something into a cell; an empty text or None clears it.

        Raises:
            AddressError: There is no such cell.
            FormulaError: The text begins with ``=`` and is no formula.
        """
        self.fill_in({CellAddress.read(address).plain: content})

    def __getitem__(self, address: str) -> str:
        """Return what is in a cell as it would be edited: its formula, or what was typed."""
        cell = self._cells.get(CellAddress.read(address).plain)
        return "" if cell is None else cell.source

    def value(self, address: str) -> Value:
        """Return the value of a cell, None if it is empty."""
        cell = self._cells.get(CellAddress.read(address).plain)
        return None if cell is None else cell.value

    def shown(self, address: str) -> str:
        """Return the value of a cell as it is shown, in its format."""
        value = self.value(address)
        pattern = self.formats.get(str(CellAddress.read(address).plain))
        if pattern is None or isinstance(value, (bool, str)) or value is None:
            return to_text(value)
        return format_number(value, pattern) if isinstance(value, (int, float)) else str(value)

    def values(self, area: str) -> list[list[Value]]:
        """Return the values of an area, row by row."""
        wanted = Area.read(area)
        rows = range(wanted.top, wanted.bottom + 1)
        columns = range(wanted.left, wanted.right + 1)
        return [[self._value(CellAddress(row, column)) for column in columns] for row in rows]

    def _value(self, address: CellAddress) -> Value:
        cell = self._cells.get(address)
        return None if cell is None else cell.value

    def cell(self, address: CellAddress) -> Cell | None:
        """Return what stands at an address, None if it is empty."""
        return self._cells.get(address)

    def cells(self) -> list[tuple[CellAddress, Cell]]:
        """Return the cells that are not empty, row by row."""
        return sorted(self._cells.items(), key=lambda item: item[0])

    def filled(self, area: Area) -> list[tuple[CellAddress, Cell]]:
        """Return the cells of an area that are not empty, row by row."""
        if area.size > len(self._cells):
            return [(address, cell) for address, cell in self.cells() if address in area]
        return [(address, self._cells[address]) for address in area if address in self._cells]

    @property
    def used(self) -> Area | None:
        """The smallest area that begins at A1 and holds all that is not empty, or None."""
        if not self._cells:
            return None
        bottom = max(address.row for address in self._cells)
        right = max(address.column for address in self._cells)
        return Area(1, 1, bottom, right)

    def fill_in(self, contents: dict[CellAddress, str | float | bool | None]) -> None:
        """Type into several cells and compute the sheet once; nothing if one is refused."""
        self.put({address: cell_of(_typed(content)) for address, content in contents.items()})

    def put(self, cells: dict[CellAddress, Cell | None]) -> None:
        """Set or clear cells and compute what depends on them."""
        for address, cell in cells.items():
            if cell is None:
                self._cells.pop(address, None)
            else:
                self._cells[address] = cell
        self._book.changed(self, cells)

    def copy(self, source: str, target: str) -> None:
        """Copy an area; references in its formulas that are not fixed move along.

        Args:
            source: The area.
            target: The cell at the top left of where it goes.

        Raises:
            SheetError: It does not fit there.
        """
        area, corner = Area.read(source), CellAddress.read(target)
        rows, columns = corner.row - area.top, corner.column - area.left
        self.put(self._copied(area, rows, columns))

    def fill(self, source: str, area: str) -> None:
        """Copy one cell into all cells of an area."""
        cell, wanted = CellAddress.read(source), Area.read(area)
        held = Area.between(cell, cell)
        copies: dict[CellAddress, Cell | None] = {}
        for place in wanted:
            copies.update(self._copied(held, place.row - cell.row, place.column - cell.column))
        self.put(copies)

    def _copied(self, area: Area, rows: int, columns: int) -> dict[CellAddress, Cell | None]:
        """Return copies of the cells of an area at their new places."""
        if area.bottom + rows > MOST_ROWS or area.right + columns > MOST_COLUMNS:
            raise SheetError(f"{area} does not fit there")
        copies: dict[CellAddress, Cell | None] = {}
        for address in area:
            place = CellAddress(address.row + rows, address.column + columns)
            copies[place] = _moved(self._cells.get(address), rows, columns)
        return copies

    def sort(self, area: str, column: str, descending: bool = False) -> None:
        """Sort the rows of an area by the values of a column.

        Equal rows keep their order, empty cells come last in both directions, and formulas go
        along with their row as if they were copied.

        Args:
            area: The area, without its heading.
            column: The letters of the column.
            descending: Whether the largest comes first.

        Raises:
            SheetError: The column does not cross the area.
        """
        wanted = Area.read(area)
        key = CellAddress.read(f"{column}1").column
        if not wanted.left <= key <= wanted.right:
            raise SheetError(f"column {column} does not cross {wanted}")
        rows = list(range(wanted.top, wanted.bottom + 1))
        filled = [row for row in rows if self._value(CellAddress(row, key)) is not None]
        filled.sort(
            key=lambda row: sort_key(self._value(CellAddress(row, key))), reverse=descending
        )
        order = [*filled, *(row for row in rows if row not in filled)]
        cells: dict[CellAddress, Cell | None] = {}
        for target, source in zip(rows, order, strict=True):
            line = Area(source, wanted.left, source, wanted.right)
            cells.update(self._copied(line, target - source, 0))
        self.put(cells)

    def insert_rows(self, first: int, count: int = 1) -> None:
        """Put empty rows before a row; formulas go on to look at what they looked at."""
        self._change_lines(LineChange(first, _positive(count), MOST_ROWS), of_rows=True)

    def delete_rows(self, first: int, count: int = 1) -> None:
        """Take rows out; formulas that looked at them alone give ``#REF!``."""
        self._change_lines(LineChange(first, -_positive(count), MOST_ROWS), of_rows=True)

    def insert_columns(self, first: str, count: int = 1) -> None:
        """Put empty columns before a column."""
        number = CellAddress.read(f"{first}1").column
        self._change_lines(LineChange(number, _positive(count), MOST_COLUMNS), of_rows=False)

    def delete_columns(self, first: str, count: int = 1) -> None:
        """Take columns out."""
        number = CellAddress.read(f"{first}1").column
        self._change_lines(LineChange(number, -_positive(count), MOST_COLUMNS), of_rows=False)

    def _change_lines(self, lines: LineChange, of_rows: bool) -> None:
        def place(address: CellAddress) -> CellAddress | None:
            line = lines.place(address.row if of_rows else address.column)
            if line is None:
                return None
            return CellAddress(line, address.column) if of_rows else CellAddress(address.row, line)

        if lines.count > 0 and any(place(address) is None for address in self._cells):
            raise SheetError("cells that are not empty would be pushed off the sheet")
        self._cells = _placed(self._cells.items(), place)
        formats = [(CellAddress.read(text), pattern) for text, pattern in self.formats.items()]
        moved_formats = _placed(formats, place)
        self.formats = {str(address): pattern for address, pattern in moved_formats.items()}
        self._book.lines_changed(self, lines, of_rows)


def _placed(
    items: Iterable[tuple[CellAddress, Item]], place: Callable[[CellAddress], CellAddress | None]
) -> dict[CellAddress, Item]:
    """Return items at their new addresses, without those that have none any more."""
    found: dict[CellAddress, Item] = {}
    for address, item in items:
        target = place(address)
        if target is not None:
            found[target] = item
    return found


def _moved(cell: Cell | None, rows: int, columns: int) -> Cell | None:
    """Return a copy of a cell as it is some rows and columns away."""
    if cell is None or cell.formula is None:
        return cell
    return Cell(None, moved(cell.formula, rows, columns))


def _typed(content: str | float | bool | None) -> str:
    """Return a content as it would be typed."""
    if content is None:
        return ""
    return content if isinstance(content, str) else str(content)


def _positive(count: int) -> int:
    if count < 1:
        raise SheetError(f"expected a positive number of lines, got {count}")
    return count


def rows_of(values: Sequence[Sequence[str]]) -> dict[CellAddress, str | float | bool | None]:
    """Return rows of texts as contents of cells, the first one in A1."""
    return {
        CellAddress(row, column): text
        for row, texts in enumerate(values, 1)
        for column, text in enumerate(texts, 1)
        if text
    }
