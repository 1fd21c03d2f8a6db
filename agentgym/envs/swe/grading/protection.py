"""Select the changes of an agent that count: edits of source, not of what affects how tests run."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

PROTECTED = (
    # tests, and what they read
    "tests/*", "test/*", "*/tests/*", "*/test/*", "testing/*",
    "test_*.py", "*_test.py", "*/test_*.py", "*/*_test.py",
    # what configures tests or the interpreter
    "conftest.py", "*/conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg",
    "pyproject.toml", "pytest.toml", ".pytest.toml", ".coveragerc", "noxfile.py", "*.pth",
    "*.egg-link",
    "sitecustomize.py", "usercustomize.py", "*/sitecustomize.py", "*/usercustomize.py",
    "pytest.py", "pytest/*", "_pytest/*", "pluggy/*", "*.dist-info/*", "*.egg-info/*",
    # what Python would load in place of the source that is read
    "*.pyc", "*.pyo", "*.so", "*.pyd", "*.dll", "*.dylib", "*.zip", "*.whl", "*.egg",
    "__pycache__/*", "*/__pycache__/*", ".git/*", ".git",
)  # fmt: skip
"""Patterns of files whose changes never count."""
LARGEST_EDIT = 1 << 20
"""Maximum size of a changed file, in bytes; source files are smaller."""
LARGEST_EDITS = 8 << 20
"""Maximum total size of all changed files, in bytes."""
SOURCE_ROOTS = ("src", "lib")
"""Top-level folders that are on the import path, like the top level itself."""
MOST_EDITS = 500
"""Maximum number of changed files that count."""

Changes = Mapping[str, "bytes | None"]
"""Content of changed files by relative path; None: deleted."""


class Edits(NamedTuple):
    """An agent's changes, divided into those that count and the others."""

    counted: dict[str, bytes | None]
    """Changes that are graded: content by path; None: deleted."""
    ignored: tuple[str, ...]
    """Paths whose changes do not count."""

    @property
    def digest(self) -> str:
        """Hash of the changes that count; empty if none do."""
        state = hashlib.blake2b(digest_size=16)
        for path in sorted(self.counted):
            content = self.counted[path]
            size = "gone" if content is None else str(len(content))
            state.update(f"{path}\0{size}\0".encode("utf-8", "surrogateescape"))
            state.update(content or b"")
        return state.hexdigest() if self.counted else ""


def source_edits(
    changes: Changes,
    pristine: Collection[str],
    allowed: Collection[str] = (),
    further: Collection[str] = (),
) -> Edits:
    """Sort an agent's changes into those that count and those that do not.

    A new file counts only inside an existing package, that is, a folder with Python files in the
    top level or in one of :data:`SOURCE_ROOTS`. A new module or package beside those would shadow
    modules of the standard library.

    Args:
        changes: Files of the repository that differ from the original.
        pristine: Paths of all original files; empty if unknown, and then new files count anywhere.
        allowed: Paths that the reference solution changes; they count even if protected.
        further: Patterns of further protected files.
    """
    packages = {_package(path) for path in pristine if path.endswith(".py")} - {""}
    counted: dict[str, bytes | None] = {}
    ignored: list[str] = []
    size = 0
    for path in sorted(changes):
        content = changes[path]
        size += len(content or b"")
        fits = len(content or b"") <= LARGEST_EDIT and size <= LARGEST_EDITS
        new = bool(pristine) and path not in pristine
        stray = new and _package(path) not in packages
        decides = is_protected(path, further) or stray
        if (
            not _is_plain_path(path)
            or not fits
            or len(counted) >= MOST_EDITS
            or (decides and path not in allowed)
        ):
            ignored.append(path)
        else:
            counted[path] = content
    return Edits(counted, tuple(ignored))


def is_protected(path: str, further: Collection[str] = ()) -> bool:
    """Return whether a file affects how tests run, so that its changes do not count."""
    # Ignore the case, as some file systems do.
    low = path.lower()
    return any(fnmatchcase(low, pattern) for pattern in PROTECTED) or any(
        fnmatchcase(path, pattern) for pattern in further
    )


def fixed_files(
    files: Changes, further: Collection[str] = ()
) -> tuple[dict[str, bytes], list[str]]:
    """Return the files and folders that the source under test must not change, to mount read-only.

    Args:
        files: All files of the graded repository; None: deleted.
        further: Patterns of further protected files.

    Returns:
        Protected Python files, and all files of the folders: content by path; and the top-level
        folders with protected files only, which are mounted whole so that nothing can be added.
    """
    existing = {path: content for path, content in files.items() if content is not None}
    tops = {path.partition("/")[0] for path in existing if "/" in path}
    mixed = {path.partition("/")[0] for path in existing if not is_protected(path, further)}
    folders = sorted(tops - mixed)
    fixed = {
        path: content
        for path, content in existing.items()
        if is_protected(path, further)
        and (path.endswith(".py") or path.partition("/")[0] in folders)
    }
    return fixed, folders


def _package(path: str) -> str:
    """Return the top-level package of a file as a path; empty for a top-level module."""
    parts = path.split("/")
    depth = 2 if parts[0] in SOURCE_ROOTS else 1
    return "/".join(parts[:depth]) if len(parts) > depth else ""


def _is_plain_path(path: str) -> bool:
    """Return whether a path is relative, normalised and inside the repository."""
    parts = path.split("/")
    return not {"", ".", ".."} & set(parts) and "\0" not in path
