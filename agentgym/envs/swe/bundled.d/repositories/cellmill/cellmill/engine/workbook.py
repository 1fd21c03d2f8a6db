"""A workbook: sheets, names, and the computation of what has changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import CELL, CellAddress
from cellmill.addresses.lines import LineChange
from cellmill.engine.dependencies import Dependencies, Place, Span, groups, is_circle
from cellmill.engine.evaluation import Evaluator
from cellmill.engine.sheet import Cell, Sheet
from cellmill.errors import SheetError
from cellmill.formulas.moving import renamed, with_lines
from cellmill.formulas.nodes import AreaNode, CellNode, NameNode, walk
from cellmill.formulas.parser import parse
from cellmill.values.blocks import Block
from cellmill.values.kinds import ErrorValue, Failed, Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")


class Workbook:
    """Sheets that can look at each other. Names are told apart without regard to capitals."""

    def __init__(self) -> None:
        self._sheets: dict[str, Sheet] = {}
        self._names: dict[str, tuple[str, Span]] = {}
        self.dependencies = Dependencies()

    def __iter__(self) -> Iterator[Sheet]:
        """Yield the sheets in the order in which they were added."""
        yield from self._sheets.values()

    def __getitem__(self, name: str) -> Sheet:
        """Return a sheet.

        Raises:
            SheetError: There is none of this name.
        """
        sheet = self._sheets.get(name.casefold())
        if sheet is None:
            raise SheetError(f"no sheet {name!r}")
        return sheet

    def add(self, name: str) -> Sheet:
        """Add an empty sheet.

        Raises:
            SheetError: The name is taken or not allowed.
        """
        self._check_sheet_name(name)
        sheet = Sheet(name, self)
        self._sheets[name.casefold()] = sheet
        self._compute(self._formulas())
        return sheet

    def rename(self, old: str, new: str) -> None:
        """Give a sheet another name; formulas that look at it are changed.

        Raises:
            SheetError: There is no such sheet, or the new name is taken or not allowed.
        """
        sheet = self[old]
        if new.casefold() != old.casefold():
            self._check_sheet_name(new)
        key, name = old.casefold(), sheet.name
        self._sheets = {
            (new.casefold() if held == key else held): other for held, other in self._sheets.items()
        }
        sheet.name = new
        for other in self:
            for _, cell in other.cells():
                if cell.formula is not None:
                    cell.formula = renamed(cell.formula, name, new)
        self._names = {
            short: (text, Span(new.casefold(), span.area) if span.sheet == key else span)
            for short, (text, span) in self._names.items()
        }
        self._start_anew()

    def remove(self, name: str) -> None:
        """Take a sheet out; formulas that look at it give ``#REF!``.

        Raises:
            SheetError: There is no such sheet.
        """
        key = self[name].name.casefold()
        del self._sheets[key]
        self._names = {
            short: entry for short, entry in self._names.items() if entry[1].sheet != key
        }
        self._start_anew()

    def _check_sheet_name(self, name: str) -> None:
        if not name.strip() or name != name.strip() or len(name) > 31:
            raise SheetError(f"expected a name of 1 to 31 characters for a sheet, got {name!r}")
        if _FORBIDDEN.search(name) or name.startswith("'") or name.endswith("'"):
            raise SheetError(
                f"the name {name!r} has a character that names of sheets must not have"
            )
        if name.casefold() in self._sheets:
            raise SheetError(f"there is a sheet {self[name].name!r} already")

    def define(self, name: str, reference: str) -> None:
        """Give an area a name that formulas can use.

        Args:
            name: The name.
            reference: The area with its sheet, such as ``Data!A1:A9``.

        Raises:
            SheetError: The name is not allowed, or the reference is none or has no sheet.
        """
        if not _NAME.fullmatch(name) or name.upper() in ("TRUE", "FALSE") or CELL.fullmatch(name):
            raise SheetError(f"{name!r} cannot be a name")
        node = parse(reference)
        if not isinstance(node, (CellNode, AreaNode)) or not node.sheet:
            raise SheetError(f"expected an area with its sheet, got {reference!r}")
        self._names[name.casefold()] = (name, Span(self[node.sheet].name.casefold(), node.area))
        self._start_anew()

    def names(self) -> dict[str, str]:
        """Return the defined names with their areas, in the order of their definition."""
        return {
            text: f"{self._sheets[span.sheet].name}!{span.area}"
            for text, span in self._names.values()
        }

    def look_up(self, name: str) -> tuple[str, Area]:
        """Return the key of the sheet and the area of a name.

        Raises:
            Failed: It is not defined.
        """
        if name.casefold() not in self._names:
            raise Failed(ErrorValue.NAME)
        return self._names[name.casefold()][1]

    def evaluate(self, formula: str, sheet: str) -> Value:
        """Return the value of a formula that stands in no cell.

        Args:
            formula: The formula.
            sheet: The sheet on which its cells lie.

        Raises:
            FormulaError: The text is no formula.
            SheetError: There is no such sheet.
        """
        return self._evaluator(self[sheet]).result(parse(formula))

    def _evaluator(self, sheet: Sheet) -> Evaluator:
        def read(name: str, area: Area) -> Block:
            other = self._sheets.get(name.casefold()) if name else sheet
            if other is None:
                raise Failed(ErrorValue.REF)
            return Block(area, ((address, cell.value) for address, cell in other.filled(area)))

        return Evaluator(read, self.look_up)

    def changed(self, sheet: Sheet, addresses: Iterable[CellAddress]) -> None:
        """Compute what depends on cells that were set or cleared.

        Raises:
            SheetError: The sheet was taken out of the workbook.
        """
        if self._sheets.get(sheet.name.casefold()) is not sheet:
            raise SheetError(f"the sheet {sheet.name!r} was taken out of its workbook")
        places = [Place(sheet.name.casefold(), address) for address in addresses]
        for place in places:
            self._connect(place)
        self._compute(places)

    def lines_changed(self, sheet: Sheet, lines: LineChange, of_rows: bool) -> None:
        """Change all formulas after rows or columns of a sheet were put in or taken out."""
        key = sheet.name.casefold()
        for other in self:

            def concerns(name: str, here: Sheet = other) -> bool:
                return (name.casefold() or here.name.casefold()) == key

            for _, cell in other.cells():
                if cell.formula is not None:
                    cell.formula = with_lines(cell.formula, lines, of_rows, concerns)
        names = {}
        for short, (text, span) in self._names.items():
            area = _changed_area(span.area, lines, of_rows) if span.sheet == key else span.area
            if area is not None:
                names[short] = (text, Span(span.sheet, area))
        self._names = names
        self._start_anew()

    def _start_anew(self) -> None:
        """Find all dependencies again and compute everything."""
        self.dependencies = Dependencies()
        places = self._formulas()
        for place in places:
            self._connect(place)
        self._compute(places)

    def _formulas(self) -> list[Place]:
        return [
            Place(sheet.name.casefold(), address)
            for sheet in self
            for address, cell in sheet.cells()
            if cell.formula is not None
        ]

    def _cell(self, place: Place) -> Cell | None:
        return self._sheets[place.sheet].cell(place.cell)

    def _connect(self, place: Place) -> None:
        """Note what the formula of a cell looks at."""
        cell = self._cell(place)
        spans: list[Span] = []
        for node in walk(cell.formula) if cell is not None and cell.formula is not None else ():
            if isinstance(node, (CellNode, AreaNode)):
                spans.append(Span(node.sheet.casefold() or place.sheet, node.area))
            elif isinstance(node, NameNode) and node.name.casefold() in self._names:
                spans.append(self._names[node.name.casefold()][1])
        self.dependencies.set(place, spans)

    def _compute(self, changed: Iterable[Place]) -> None:
        """Compute changed cells and all that depends on them, each once."""
        affected = self.dependencies.affected(changed)
        among = dict.fromkeys(affected)
        needed = {place: self._needs(place, among) for place in affected}
        for group in groups(affected, needed.__getitem__):
            circle = is_circle(group, needed.__getitem__)
            for place in group:
                cell = self._cell(place)
                if cell is not None and cell.formula is not None:
                    evaluator = self._evaluator(self._sheets[place.sheet])
                    cell.value = ErrorValue.CYCLE if circle else evaluator.result(cell.formula)

    def _needs(self, place: Place, among: dict[Place, None]) -> list[Place]:
        """Return those of some cells that a formula looks at."""
        found: dict[Place, None] = {}
        for span in self.dependencies.looks_at(place):
            if span.area.size <= len(among):
                held = (Place(span.sheet, cell) for cell in span.area)
                found.update(dict.fromkeys(other for other in held if other in among))
            else:
                for other in among:
                    if other.sheet == span.sheet and other.cell in span.area:
                        found[other] = None
        return list(found)


def _changed_area(area: Area, lines: LineChange, of_rows: bool) -> Area | None:
    """Return where an area goes when rows or columns are put in or taken out."""
    if of_rows:
        rows = lines.span(area.top, area.bottom)
        return None if rows is None else Area(rows[0], area.left, rows[1], area.right)
    columns = lines.span(area.left, area.right)
    return None if columns is None else Area(area.top, columns[0], area.bottom, columns[1])
