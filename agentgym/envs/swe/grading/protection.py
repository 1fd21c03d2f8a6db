"""Which of an agent's changes count: edits of the source, not what decides how tests run."""

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
"""Most bytes of a file that an edit may leave; source files are smaller."""
LARGEST_EDITS = 8 << 20
"""Most bytes of all edits together."""
SOURCE_ROOTS = ("src", "lib")
"""Folders of the top level that Python looks for modules in, as it does in the top level itself."""
MOST_EDITS = 500
"""Most files that edits may change."""

Changes = Mapping[str, "bytes | None"]
"""Files by relative path; None stands for what was deleted."""


class Edits(NamedTuple):
    """An agent's changes, sorted."""

    counted: dict[str, bytes | None]
    """What goes into the tree that is graded."""
    ignored: tuple[str, ...]
    """Paths whose changes do not count."""

    @property
    def digest(self) -> str:
        """Hash of what counts; empty if nothing does."""
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

    A new file counts only inside a folder of the top level, or of one of :data:`SOURCE_ROOTS`, that
    holds Python files already and is no folder of tests: a new module or package beside them would
    come before those of the standard library.

    Args:
        changes: Files under the repository that differ from the pristine tree.
        pristine: Paths of the files that the repository has; empty where nobody knows them, and
            then every place is as good.
        allowed: Paths that the right solution changes, which count wherever they lie.
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
            not _plain(path)
            or not fits
            or len(counted) >= MOST_EDITS
            or (decides and path not in allowed)
        ):
            ignored.append(path)
        else:
            counted[path] = content
    return Edits(counted, tuple(ignored))


def is_protected(path: str, further: Collection[str] = ()) -> bool:
    """Return whether a file decides how tests run, so that changes of it never count."""
    # The case is ignored, as file systems may.
    low = path.lower()
    return any(fnmatchcase(low, pattern) for pattern in PROTECTED) or any(
        fnmatchcase(path, pattern) for pattern in further
    )


def fixed_files(
    files: Changes, further: Collection[str] = ()
) -> tuple[dict[str, bytes], list[str]]:
    """Return which files the source under test shall not change, and which folders hold no others.

    Args:
        files: All files of the repository as it is graded; None for what is not there.
        further: Patterns of further protected files.

    Returns:
        Tests and what Python loads for them, by path; folders of the top level that hold nothing
        that is not protected, so that nothing can be added there either.
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
    """Return the folder of importable modules that a file is part of; empty if it is one itself."""
    parts = path.split("/")
    depth = 2 if parts[0] in SOURCE_ROOTS else 1
    return "/".join(parts[:depth]) if len(parts) > depth else ""


def _plain(path: str) -> bool:
    """Return whether a path is relative, stays below the repository and has one way to write it."""
    parts = path.split("/")
    return not {"", ".", ".."} & set(parts) and "\0" not in path
