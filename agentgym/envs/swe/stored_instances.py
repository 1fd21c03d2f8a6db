"""Tasks on disk: a file of JSON lines beside the sound repositories that they are made from.

A line describes a repository or a task of the repository before it::

    {"repository": "slugs", "digest": "...", "tests": ["tests/test_a.py::test_b", ...]}
    {"id": "slugs-001", "repo": "slugs", "split": "train", "statement": "...",
     "edits": [["slugs/core.py", 120, "<", "<="]], "fail_to_pass": [3, 17], "kind": "boundary"}

Tests are numbers into the list of their repository, whose other tests are PASS_TO_PASS. A task may
hold ``patch`` (else it is what takes the edits back), ``test_patch``, ``pass_to_pass``, ``folder``
(of its own repository, else that of its name) and further facts in words.
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
"""The file of a folder of tasks."""
REPOSITORIES = "repositories"
"""Where the folder holds the repositories."""
HELD_OUT = "held_out"
"""Where it holds the questions that repairs have to answer."""
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
    """What the file says of a repository."""

    name: str
    """Its name, and that of its folder."""
    digest: str
    """:func:`digest` of the folder."""
    tests: tuple[str, ...]
    """The tests that can be relied on, in the order in which they run."""

    def line(self) -> str:
        """Return the line of the file."""
        return _dump({"repository": self.name, "digest": self.digest, "tests": [*self.tests]})


@dataclass(frozen=True)
class InstanceRecord:
    """What the file says of a task."""

    id: str
    """Its name."""
    repo: str
    """Its repository."""
    statement: str
    """The issue."""
    edits: tuple[Edit, ...]
    """What makes the fault."""
    fail_to_pass: tuple[int, ...]
    """The tests that fail, by their number."""
    split: str = ""
    """Its split; empty if it is to be dealt."""
    patch: str = ""
    """The solution, if it is not what takes the edits back."""
    pass_to_pass: tuple[int, ...] | None = None
    """The tests that pass, by their number; None: all others."""
    folder: str = ""
    """Folder of its repository, if that is not its name."""
    test_patch: str = ""
    """What adds hidden tests."""
    details: tuple[tuple[str, str], ...] = ()
    """Further facts."""

    def line(self) -> str:
        """Return the line of the file."""
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
    """The tasks of a folder, as ``agentgym swe build`` makes it.

    Args:
        folder: The folder.
        file: Name of the file of tasks in it.
        banks: Folder in it with the held-out questions of these tasks.
        hidden_tests: Whether the tests that decide are cut out of the repositories, and come at
            grading alone, as those of published sets do.
        difficulty: Level of the tasks; None: all of them.

    Raises:
        ConfigurationError: There are no tasks of this difficulty.
        DataError: A file is missing or damaged; the message names the line.
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
        """Return the number of tasks of a split.

        Raises:
            TaskNotFound: There is no such split.
        """
        return len(self._split(split))

    def instance(self, split: str, index: int) -> Instance:
        """Return a task by its place.

        Raises:
            TaskNotFound: There is none.
            DataError: Its repository is missing or is not the one it was made from.
        """
        ids = self._split(split)
        if not 0 <= index < len(ids):
            raise TaskNotFound(
                f"expected an index from 0 to {len(ids) - 1} in split {split!r} of {self._file}, "
                f"got {index}"
            )
        return self._instance(self._records[ids[index]])

    def find(self, instance_id: str) -> tuple[str, int]:
        """Return split and index of a task by its id.

        Raises:
            TaskNotFound: There is none.
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
        """Return what the file says of each task, by id, in its order."""
        return self._records

    def folder_of(self, repo: str) -> Path:
        """Return where a repository lies."""
        return self.folder / REPOSITORIES / repo

    def check(self) -> None:
        """Check that every repository is the one that its tasks were made from.

        Raises:
            DataError: One is not.
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
        """Leave out the tasks of other levels."""
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
        """Take over a task."""
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
        """Make the task of a record."""
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
        """Return where the questions of a task lie; None for a folder without them."""
        digest = self._repositories[repository].digest
        names = (record.id, repository)
        files = (bank_file(self.folder, name, self._banks) for name in names)
        return next((HeldOut(file, digest) for file in files if file.is_file()), None)


def _homes(records: Sequence[InstanceRecord]) -> dict[str, str]:
    """Return the split of each task by its id.

    Tasks that name none are dealt by their repository, so that splits share none, and where there
    are too few repositories for that one by one.
    """
    names = {record.repo for record in records}
    apart = len(names) >= len(SPLITS)
    rows = [
        SplitRow(record.repo if apart else record.id, record.split or None) for record in records
    ]
    return {record.id: split for record, split in zip(records, deal(rows), strict=True)}


def bank_file(folder: Path, name: str, banks: str = HELD_OUT) -> Path:
    """Return the file of a folder with the held-out questions of a repository, or of a task."""
    return folder / banks / f"{name}.json.gz"


def undoing_patch(folder: Path, edits: Sequence[Edit]) -> str:
    """Return the diff that takes edits of a repository back.

    Raises:
        DataError: A file is missing or another one.
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
    """Return a hash over the files of a repository, their paths and contents.

    Raises:
        DataError: There is no such folder.
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
        cut: Whether its last line may be incomplete, and is then left out.

    Raises:
        DataError: It cannot be read, or a line is none; the message has its number.
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
    """Read a line."""
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
