"""What can go wrong."""

from __future__ import annotations


class BibliographyError(ValueError):
    """The root of all errors of this package."""


class ReadError(BibliographyError):
    """A text is no BibTeX.

    Attributes:
        line: Where it goes wrong, counted from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


class PersonError(BibliographyError):
    """A text is no name of a person."""


class CitationError(BibliographyError):
    """An entry that is cited is not there, or a style is."""
