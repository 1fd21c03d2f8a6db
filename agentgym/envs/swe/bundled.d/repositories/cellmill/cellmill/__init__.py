"""A spreadsheet without a screen: formulas, references, recalculation, CSV."""

from cellmill.addresses.areas import Area
from cellmill.addresses.cells import CellAddress, column_letters, column_number
from cellmill.engine.sheet import Sheet
from cellmill.engine.workbook import Workbook
from cellmill.errors import AddressError, FormulaError, SheetError, SpreadsheetError
from cellmill.files.csv_text import dump_csv, load_csv
from cellmill.files.drawing import draw
from cellmill.files.tracing import trace, users
from cellmill.formulas.moving import moved_formula
from cellmill.formulas.parser import parse
from cellmill.formulas.printer import formula_text
from cellmill.functions.registry import function_names
from cellmill.values.formats import format_number
from cellmill.values.kinds import ErrorValue

__all__ = [
    "AddressError",
    "Area",
    "CellAddress",
    "ErrorValue",
    "FormulaError",
    "Sheet",
    "SheetError",
    "SpreadsheetError",
    "Workbook",
    "column_letters",
    "column_number",
    "draw",
    "dump_csv",
    "format_number",
    "formula_text",
    "function_names",
    "load_csv",
    "moved_formula",
    "parse",
    "trace",
    "users",
]
