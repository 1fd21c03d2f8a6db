"""Read and write delimited rows in a stated dialect."""

from rowdialect.dialect import CSV, PIPES, TSV, Dialect, DialectError
from rowdialect.parser import RowError, parse_row, parse_rows
from rowdialect.sniffer import sniff
from rowdialect.table import Table
from rowdialect.writer import format_row, format_rows

__all__ = [
    "CSV",
    "PIPES",
    "TSV",
    "Dialect",
    "DialectError",
    "RowError",
    "Table",
    "format_row",
    "format_rows",
    "parse_row",
    "parse_rows",
    "sniff",
]
