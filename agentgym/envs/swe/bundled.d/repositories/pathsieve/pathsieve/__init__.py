"""Glob and ignore patterns for paths, without touching the disk."""

from pathsieve.braces import expand_braces
from pathsieve.glob import Pattern, PatternError
from pathsieve.ignore import IgnoreRules, Rule
from pathsieve.paths import normalize, parents, relative
from pathsieve.select import Tree, sift

__all__ = [
    "IgnoreRules",
    "Pattern",
    "PatternError",
    "Rule",
    "Tree",
    "expand_braces",
    "normalize",
    "parents",
    "relative",
    "sift",
]
