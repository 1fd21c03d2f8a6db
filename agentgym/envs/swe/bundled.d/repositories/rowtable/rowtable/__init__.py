"""Small in-memory tables with filter, group, join and a query language."""

from rowtable.errors import QueryError, TableError
from rowtable.query import query
from rowtable.table import Table

__all__ = ["QueryError", "Table", "TableError", "query"]
