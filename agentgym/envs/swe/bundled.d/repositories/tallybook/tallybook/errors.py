"""The exceptions of the library."""


class MoneyError(ValueError):
    """Amounts cannot be read or do not go together."""


class BookError(ValueError):
    """An entry or an account contradicts the rules of bookkeeping."""
