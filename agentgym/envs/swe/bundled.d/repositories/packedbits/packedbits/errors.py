"""The exception of the library."""


class CorruptData(ValueError):
    """Bytes that cannot have been written by this library."""
