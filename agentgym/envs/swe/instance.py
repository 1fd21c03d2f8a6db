"""A SWE task: a repository with a fault, a user's issue, and the tests that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DIFFICULTIES = ("easy", "medium", "hard")
"""Levels of the tasks that ``agentgym swe build`` makes."""


@dataclass(frozen=True)
class Edit:
    """A piece of a file and its replacement."""

    path: str
    """The file, relative to the repository, with forward slashes."""
    start: int
    """Offset of the piece, in bytes of UTF-8."""
    old: str
    """The piece before the edit."""
    new: str
    """The replacement."""


@dataclass(frozen=True)
class FolderSource:
    """A repository in a folder; edits insert the fault."""

    folder: Path
    """The repository without the fault; never written to."""
    edits: tuple[Edit, ...] = ()
    """Edits that make the fault; offsets refer to the correct files, and do not overlap."""


@dataclass(frozen=True)
class ImageSource:
    """A repository inside a container image."""

    image: str
    """Name of the image."""
    workdir: str = "/testbed"
    """Path of the repository in the image."""
    commit: str = ""
    """Commit to reset the repository to; empty: none."""
    fault: str = ""
    """A unified diff that inserts the fault, if the image contains the correct repository."""
    hidden: tuple[str, ...] = ()
    """Absolute paths in the image that only the grader may see, such as the deciding tests."""
    path: tuple[str, ...] = ()
    """Folders in the image to put first in ``PATH``, such as that of its Python."""


@dataclass(frozen=True)
class HeldOut:
    """Location of a task's held-out questions."""

    file: Path
    """The question bank."""
    digest: str
    """Hash of the repository that the bank was made for."""


@dataclass(frozen=True)
class Instance:
    """One task: make the failing tests pass without breaking others."""

    id: str
    """Id, unique in its set."""
    repo: str
    """Name of the repository; no repository is in two splits."""
    statement: str
    """The text of the issue."""
    source: FolderSource | ImageSource
    """The repository with the fault."""
    patch: str
    """The reference solution as a unified diff; never shown to the agent."""
    fail_to_pass: tuple[str, ...]
    """Tests that fail and have to pass, as pytest names them: ``tests/test_a.py::test_b[c]``."""
    pass_to_pass: tuple[str, ...]
    """Tests that pass and must keep passing."""
    test_patch: str = ""
    """Unified diff that adds hidden tests before grading."""
    brought_tests: str = ""
    """Unified diff of the hidden tests that ``test_command`` itself adds."""
    test_command: str = ""
    """Shell script with which a published set runs its tests; empty: pytest on the tests' files."""
    log_format: str = ""
    """Format in which ``test_command`` prints the status of each test: a key of
    ``official.logs.LOG_FORMATS``. Empty without a ``test_command``."""
    protected: tuple[str, ...] = ()
    """Patterns of further files in which the agent's changes do not count."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of commands and tests."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Descriptive facts, such as the kind of the fault."""
    held_out: HeldOut | None = None
    """Questions besides the tests that a repair must answer like the correct repository."""
