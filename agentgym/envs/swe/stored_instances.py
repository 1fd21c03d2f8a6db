"""Tasks on disk: a JSON Lines file beside the original repositories, which have no fault yet.

A line describes a repository, or a task of a repository that an earlier line describes::

    {"repository": "slugs", "digest": "...", "tests": ["tests/test_a.py::test_b", ...]}
    {"id": "slugs-001", "repo": "slugs", "split": "train", "statement": "...",
     "edits": [["slugs/core.py", 120, "<", "<="]], "fail_to_pass": [3, 17], "kind": "boundary"}

A task refers to tests by their index in ``tests`` of its repository. Optional fields: ``patch``
(default: the diff that undoes the edits), ``test_patch``, ``pass_to_pass`` (default: all tests not
in ``fail_to_pass``), ``folder`` (name of its repository line and folder; default: ``repo``), and
any further string fields, which become details of the instance.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.core.row_splits import SplitRow, deal
from agentgym.core.tasks import SPLITS
from agentgym.envs.swe.edits import edited_files, write_diff
from agentgym.envs.swe.hidden_tests import cutting_edits
from agentgym.envs.swe.instance import Edit, FolderSource, HeldOut, Instance
from agentgym.errors import ConfigurationError, DataError, TaskNotFound
from agentgym.support.text_lines import split_lines

INSTANCES = "instances.jsonl"
"""Name of the file of tasks in a folder."""
REPOSITORIES = "repositories"
"""Name of the subfolder of the repositories."""
HELD_OUT = "held_out"
"""Name of the subfolder of the held-out questions."""
_KNOWN = frozenset(
    (
        "id",
        "repo",
        "split",
        "statement",
        "edits",
        "fail_to_pass",
        "pass_to_pass",
        "patch",
        "test_patch",
        "folder",
    )
)
_IGNORED = frozenset(("__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache"))


@dataclass(frozen=True)
class Repository:
    """A line of the file that describes a repository."""

    name: str
    """Name of the repository and of its folder."""
    digest: str
    """:func:`digest` of the folder."""
    tests: tuple[str, ...]
    """Ids of the tests that pass reliably, in the order in which they run."""

    def line(self) -> str:
        """Return the repository as a line of JSON."""
        return _dump({"repository": self.name, "digest": self.digest, "tests": [*self.tests]})


@dataclass(frozen=True)
class InstanceRecord:
    """A line of the file that describes a task."""

    id: str
    """Id of the task."""
    repo: str
    """Name of its repository."""
    statement: str
    """The issue."""
    edits: tuple[Edit, ...]
    """The edits that introduce the fault."""
    fail_to_pass: tuple[int, ...]
    """Indices of the tests that fail because of the fault."""
    split: str = ""
    """Name of the split; empty: assigned by `deal`."""
    patch: str = ""
    """The solution as a unified diff; empty: the diff that undoes the edits."""
    pass_to_pass: tuple[int, ...] | None = None
    """Indices of the tests that must not break; None: all that are not in ``fail_to_pass``."""
    folder: str = ""
    """Name of the repository's line and folder; empty: ``repo``."""
    test_patch: str = ""
    """Unified diff that adds hidden tests."""
    details: tuple[tuple[str, str], ...] = ()
    """Further fields of the line, as pairs of name and text."""

    def line(self) -> str:
        """Return the task as a line of JSON."""
        fields: dict[str, Any] = {
            "id": self.id,
            "repo": self.repo,
            **({"split": self.split} if self.split else {}),
            **dict(self.details),
            "edits": [[edit.path, edit.start, edit.old, edit.new] for edit in self.edits],
            "fail_to_pass": [*self.fail_to_pass],
            "statement": self.statement,
        }
        if self.patch:
            fields["patch"] = self.patch
        if self.pass_to_pass is not None:
            fields["pass_to_pass"] = [*self.pass_to_pass]
        if self.folder:
            fields["folder"] = self.folder
        if self.test_patch:
            fields["test_patch"] = self.test_patch
        return _dump(fields)


class StoredInstances:
    """The tasks of a folder that ``agentgym swe build`` has written.

    Args:
        folder: The folder.
        file: Name of the file of tasks in the folder.
        banks: Subfolder with the held-out questions of these tasks.
        hidden_tests: Whether the deciding tests are removed from the repositories and added only
            for grading, as in published sets.
        difficulty: Keep only tasks of this level; None: all levels.

    Raises:
        ConfigurationError: No task has this difficulty.
        DataError: The file is missing or damaged; the message names the line.
    """

    def __init__(
        self,
        folder: Path | str,
        file: str = INSTANCES,
        *,
        banks: str = HELD_OUT,
        hidden_tests: bool = False,
        difficulty: str | None = None,
    ) -> None:
        self._hidden_tests, self._banks = hidden_tests, banks
        self.folder = Path(folder).absolute()
        self._file = self.folder / file
        self._repositories: dict[str, Repository] = {}
        self._records: dict[str, InstanceRecord] = {}
        for entry in read_lines(self._file):
            if isinstance(entry, Repository):
                self._repositories[entry.name] = entry
            else:
                self._add(entry)
        if not self._records:
            raise DataError(
                f"expected tasks in {self._file}, got none; make some with agentgym swe build"
            )
        self._keep(difficulty)
        self._homes = _homes([*self._records.values()])
        by_split: dict[str, list[str]] = {}
        for id_, split in self._homes.items():
            by_split.setdefault(split, []).append(id_)
        standard_splits = [name for name in SPLITS if name in by_split]
        self.splits = (*standard_splits, *sorted(by_split.keys() - set(SPLITS)))
        self._ids = {split: tuple(ids) for split, ids in by_split.items()}

    def len(self, split: str) -> int:
        """Return the number of tasks in a split.

        Raises:
            TaskNotFound: There is no such split.
        """
        return len(self._split(split))

    def instance(self, split: str, index: int) -> Instance:
        """Return the task at an index of a split.

        Raises:
            TaskNotFound: There is no such split or index.
            DataError: The repository is missing, or differs where the edits apply.
        """
        ids = self._split(split)
        if not 0 <= index < len(ids):
            raise TaskNotFound(
                f"expected an index from 0 to {len(ids) - 1} in split {split!r} of {self._file}, "
                f"got {index}"
            )
        return self._instance(self._records[ids[index]])

    def find(self, instance_id: str) -> tuple[str, int]:
        """Return the split and index of a task by its id.

        Raises:
            TaskNotFound: There is no task with this id.
        """
        record = self._records.get(instance_id)
        if record is None:
            example = next(iter(self._records))
            raise TaskNotFound(
                f"expected the id of a task of {self._file}, such as {example}; "
                f"got {instance_id!r:.200}"
            )
        split = self._homes[instance_id]
        return split, self._ids[split].index(instance_id)

    def repositories(self) -> Mapping[str, Repository]:
        """Return the repositories by name."""
        return self._repositories

    def records(self) -> Mapping[str, InstanceRecord]:
        """Return the records of the tasks by id, in the order of the file."""
        return self._records

    def folder_of(self, repo: str) -> Path:
        """Return the folder of a repository."""
        return self.folder / REPOSITORIES / repo

    def check(self) -> None:
        """Check by their digests that the repositories have not changed since the tasks were made.

        Raises:
            DataError: A repository is missing or has changed.
        """
        for name, repository in self._repositories.items():
            current_digest = digest(self.folder_of(name))
            if current_digest != repository.digest:
                raise DataError(
                    f"expected the repository {self.folder_of(name)} that the tasks of "
                    f"{self._file.name} were made from, but its files have changed; make them anew"
                )

    # -- parts ----------------------------------------------------------------------------------

    def _keep(self, difficulty: str | None) -> None:
        """Drop the tasks of other difficulties."""
        if difficulty is None:
            return
        levels = {
            id_: dict(record.details).get("difficulty") for id_, record in self._records.items()
        }
        self._records = {
            id_: record for id_, record in self._records.items() if levels[id_] == difficulty
        }
        if not self._records:
            difficulties = ", ".join(sorted(filter(None, set(levels.values())))) or "none"
            raise ConfigurationError(
                f"expected a difficulty that tasks of {self._file} have ({difficulties}), got "
                f"{difficulty!r}"
            )

    def _add(self, record: InstanceRecord) -> None:
        """Validate and add a task."""
        name = record.folder or record.repo
        repository = self._repositories.get(name)
        if repository is None or record.id in self._records:
            raise DataError(
                f"expected task {record.id!r} of {self._file} once, behind the line of its "
                f"repository {name!r}"
            )
        numbers = (*record.fail_to_pass, *(record.pass_to_pass or ()))
        if not record.fail_to_pass or not all(0 <= n < len(repository.tests) for n in numbers):
            raise DataError(
                f"expected numbers of tests from 0 to {len(repository.tests) - 1} in task "
                f"{record.id!r} of {self._file}, and at least one that fails"
            )
        self._records[record.id] = record

    def _split(self, split: str) -> Sequence[str]:
        if split not in self._ids:
            raise TaskNotFound(
                f"expected a split of {self._file}: one of {', '.join(self.splits)}; got {split!r}"
            )
        return self._ids[split]

    def _instance(self, record: InstanceRecord) -> Instance:
        """Return the instance of a record."""
        name = record.folder or record.repo
        folder, tests = self.folder_of(name), self._repositories[name].tests
        failing = set(record.fail_to_pass)
        passing = record.pass_to_pass
        if passing is None:
            passing = tuple(n for n in range(len(tests)) if n not in failing)
        deciding = tuple(tests[n] for n in record.fail_to_pass)
        cut: tuple[Edit, ...] = ()
        if self._hidden_tests and not record.test_patch:
            cut = cutting_edits(folder, deciding)
        return Instance(
            id=record.id,
            repo=record.repo,
            statement=record.statement,
            source=FolderSource(folder, (*record.edits, *cut)),
            patch=record.patch or undoing_patch(folder, record.edits),
            fail_to_pass=deciding,
            pass_to_pass=tuple(tests[n] for n in passing),
            test_patch=undoing_patch(folder, cut) if cut else record.test_patch,
            details=dict(record.details),
            held_out=self._held_out(record, name),
        )

    def _held_out(self, record: InstanceRecord, repository: str) -> HeldOut | None:
        """Return the bank of the task, else that of its repository; None if there is neither."""
        digest = self._repositories[repository].digest
        names = (record.id, repository)
        files = (bank_file(self.folder, name, self._banks) for name in names)
        return next((HeldOut(file, digest) for file in files if file.is_file()), None)


def _homes(records: Sequence[InstanceRecord]) -> dict[str, str]:
    """Return the split of each task, by id.

    Tasks without a split are dealt by repository, so that no repository is in two splits. With
    fewer repositories than splits this is impossible, and they are dealt one by one.
    """
    names = {record.repo for record in records}
    apart = len(names) >= len(SPLITS)
    rows = [
        SplitRow(record.repo if apart else record.id, record.split or None) for record in records
    ]
    return {record.id: split for record, split in zip(records, deal(rows), strict=True)}


def bank_file(folder: Path, name: str, banks: str = HELD_OUT) -> Path:
    """Return the path of the bank of a repository or task.

    Args:
        folder: Folder of the tasks.
        name: Name of the repository, or id of the task.
        banks: Subfolder of the banks.
    """
    return folder / banks / f"{name}.json.gz"


def undoing_patch(folder: Path, edits: Sequence[Edit]) -> str:
    """Return the unified diff that undoes edits of a repository.

    Args:
        folder: The repository, without the edits.
        edits: The edits.

    Raises:
        DataError: A file is missing, or an edit does not match it.
    """

    def read(path: str) -> bytes:
        try:
            return (folder / path).read_bytes()
        except OSError as error:
            raise DataError(
                f"expected the file {path} in the repository {folder}, got {error.strerror}"
            ) from error

    faulty = edited_files(read, edits)
    return write_diff(faulty, {path: read(path) for path in faulty})


def digest(folder: Path) -> str:
    """Return a hash of the paths and contents of a repository's files.

    Raises:
        DataError: The folder does not exist.
    """
    if not folder.is_dir():
        raise DataError(f"expected a folder with a repository, got {folder}")
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda entry: entry.relative_to(folder).as_posix()):
        relative = path.relative_to(folder)
        if path.is_file() and not _IGNORED & set(relative.parts):
            content = path.read_bytes()
            state.update(f"{relative.as_posix()}\0{len(content)}\0".encode() + content)
    return state.hexdigest()[:32]


def read_lines(file: Path, *, cut: bool = False) -> Iterator[Repository | InstanceRecord]:
    """Read a file of tasks.

    Args:
        file: The file.
        cut: Whether to ignore an incomplete last line, as an interrupted build leaves it.

    Yields:
        The repositories and tasks, in order.

    Raises:
        DataError: The file cannot be read, or a line is invalid; the message has its number.
    """
    try:
        lines = split_lines(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"expected a file of tasks, as agentgym swe build makes it, got {file}: {reason}"
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _entry(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if cut and number == len(lines):
                return
            raise DataError(
                f"expected a task or a repository in line {number} of {file}, got "
                f"{line[:80]!r} ({type(error).__name__}: {error})"
            ) from error


def _entry(fields: Any) -> Repository | InstanceRecord:
    """Return the repository or task of a decoded line."""
    if "repository" in fields:
        return Repository(
            _text(fields["repository"]), _text(fields["digest"]), _texts(fields["tests"])
        )
    edits = tuple(
        Edit(_text(path), _number(start), _text(old), _text(new))
        for path, start, old, new in fields["edits"]
    )
    passing = fields.get("pass_to_pass")
    return InstanceRecord(
        _text(fields["id"]),
        _text(fields["repo"]),
        _text(fields["statement"]),
        edits,
        _numbers(fields["fail_to_pass"]),
        _text(fields.get("split", "")),
        _text(fields.get("patch", "")),
        None if passing is None else _numbers(passing),
        _text(fields.get("folder", "")),
        _text(fields.get("test_patch", "")),
        tuple((key, _text(value)) for key, value in fields.items() if key not in _KNOWN),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {value!r:.40}")
    return value


def _number(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"expected a whole number, got {value!r:.40}")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(value) for value in _list(values))


def _numbers(values: Any) -> tuple[int, ...]:
    return tuple(_number(value) for value in _list(values))


def _list(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError(f"expected a list, got {values!r:.40}")
    return values


def _dump(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":")) + "\n"
