"""The exceptions of the library."""


class TableError(ValueError):
    """A table does not have what is asked of it."""


class QueryError(ValueError):
    """A query cannot be understood."""
