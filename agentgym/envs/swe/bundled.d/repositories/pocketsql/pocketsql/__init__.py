"""A small SQL database in memory: tables, joins, groups, constraints, transactions."""

from pocketsql.database import Database, Result
from pocketsql.errors import ConstraintError, DataError, ParseError, SchemaError, SqlError
from pocketsql.output import to_csv, to_table
from pocketsql.syntax.statements import parse_script, parse_statement
from pocketsql.syntax.writer import expression_text

__all__ = [
    "ConstraintError",
    "DataError",
    "Database",
    "ParseError",
    "Result",
    "SchemaError",
    "SqlError",
    "expression_text",
    "parse_script",
    "parse_statement",
    "to_csv",
    "to_table",
]
