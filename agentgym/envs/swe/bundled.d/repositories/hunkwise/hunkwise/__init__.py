"""Unified diffs: make, read, apply, reverse and merge them."""

from hunkwise.apply import PatchConflict, apply
from hunkwise.diff import make_diff, make_hunks
from hunkwise.merge import MergeResult, merge
from hunkwise.model import Hunk, Line, Patch
from hunkwise.parse import PatchSyntaxError, parse_patch

__all__ = [
    "Hunk",
    "Line",
    "MergeResult",
    "Patch",
    "PatchConflict",
    "PatchSyntaxError",
    "apply",
    "make_diff",
    "make_hunks",
    "merge",
    "parse_patch",
]
