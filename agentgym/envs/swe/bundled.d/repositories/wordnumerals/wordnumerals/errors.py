"""What can go wrong."""


class NumeralError(ValueError):
    """A text is not a numeral, or a number has none."""
