"""Bibliographies: read BibTeX, check it, cite from it, set it in several styles."""

from citepress.citations import Citations
from citepress.errors import BibliographyError, CitationError, PersonError, ReadError
from citepress.model.checks import Problem, check
from citepress.model.dates import read_month, read_year
from citepress.model.duplicates import find_duplicates
from citepress.model.entries import Entry, Library
from citepress.model.names import Name, read_name, read_names
from citepress.model.pages import read_pages
from citepress.reading.latex import plain_text
from citepress.reading.parser import read_library
from citepress.writing.bibtex import write_library

__all__ = [
    "BibliographyError",
    "CitationError",
    "Citations",
    "Entry",
    "Library",
    "Name",
    "PersonError",
    "Problem",
    "ReadError",
    "check",
    "find_duplicates",
    "plain_text",
    "read_library",
    "read_month",
    "read_name",
    "read_names",
    "read_pages",
    "read_year",
    "write_library",
]
