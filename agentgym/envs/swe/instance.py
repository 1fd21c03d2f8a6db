"""A SWE task: a repository with a fault, a user's issue, and the tests that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

DIFFICULTIES = ("easy", "medium", "hard")
"""Levels of the tasks that are made from sound libraries."""


@dataclass(frozen=True)
class Edit:
    """A piece of a file and its replacement."""

    path: str
    """The file, relative to the repository, with forward slashes."""
    start: int
    """Offset of the piece in bytes."""
    old: str
    """The piece as it is."""
    new: str
    """The replacement."""


@dataclass(frozen=True)
class FolderSource:
    """A repository in a folder; edits insert the fault."""

    folder: Path
    """The sound repository; never written to."""
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
    """The commit to which it is reset; empty leaves it as it is."""
    fault: str = ""
    """A unified diff that inserts the fault, if the image contains the correct repository."""
    hidden: tuple[str, ...] = ()
    """Absolute paths inside that only the grader may see, such as the tests that decide."""
    path: tuple[str, ...] = ()
    """Folders inside that stand before the system's own in ``PATH``, such as its Python's."""


@dataclass(frozen=True)
class HeldOut:
    """Location of a task's held-out questions."""

    file: Path
    """The bank that holds them."""
    digest: str
    """Hash of the repository that they were made for."""


@dataclass(frozen=True)
class Instance:
    """One task: make the failing tests pass and break none."""

    id: str
    """Name, unique in its set."""
    repo: str
    """Name of the repository; splits are disjoint by it."""
    statement: str
    """The issue, as its reporter wrote it."""
    source: FolderSource | ImageSource
    """Where the repository with the fault comes from."""
    patch: str
    """The right solution as a unified diff; never shown."""
    fail_to_pass: tuple[str, ...]
    """Tests that fail and shall pass, as pytest names them: ``tests/test_a.py::test_b[c]``."""
    pass_to_pass: tuple[str, ...]
    """Tests that pass and must keep passing."""
    test_patch: str = ""
    """A unified diff that adds hidden tests before grading."""
    brought_tests: str = ""
    """The unified diff of hidden tests that ``test_command`` itself brings along."""
    test_command: str = ""
    """How a set of other people runs its tests; empty runs pytest on the tests' files."""
    log_format: str = ""
    """How the output of ``test_command`` tells what became of each test: a name of
    ``official.logs.LOG_FORMATS``. Empty where tests write a report of their own."""
    protected: tuple[str, ...] = ()
    """Patterns of further files whose changes do not count."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the tests need."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Descriptive facts, such as the kind of the fault."""
    held_out: HeldOut | None = None
    """Questions besides the tests that a repair must answer like the correct repository."""
