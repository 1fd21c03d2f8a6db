"""Semantic versions, range constraints and a small dependency resolver."""

from verrange.catalog import Catalog, Release
from verrange.constraint import Comparator, Range, parse_range
from verrange.errors import NoSolution, RangeError, VersionError
from verrange.resolve import resolve
from verrange.version import Version

__all__ = [
    "Catalog",
    "Comparator",
    "NoSolution",
    "Range",
    "RangeError",
    "Release",
    "Version",
    "VersionError",
    "parse_range",
    "resolve",
]
