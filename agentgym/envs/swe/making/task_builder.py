"""Making tasks from a repository: try one fault after another, and record the usable ones.

Everything is written at once, so an interrupted run resumes where it stopped, even after a kill:
``instances.jsonl`` grows by a line for each task, ``trials.jsonl`` by one for each trial.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agentgym.envs.swe.edits import edited_files
from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.change_size import hunks, repairing_patch, size_of
from agentgym.envs.swe.making.fault_trials import MOST_FAILING, SoundRun, Trial, Workbench
from agentgym.envs.swe.making.kinds import KINDS, Candidate, LibrarySource
from agentgym.envs.swe.making.statements import report, statement
from agentgym.envs.swe.stored_instances import (
    INSTANCES,
    REPOSITORIES,
    InstanceRecord,
    Repository,
    digest,
    read_lines,
)
from agentgym.errors import DataError
from agentgym.support.caching import publish
from agentgym.support.growing_file import append_line, drop_cut_line
from agentgym.support.random_stream import Stream
from agentgym.support.text_lines import split_lines

GENERATOR_VERSION = 1
"""Raised when a seed would give other tasks."""
TRIALS = "trials.jsonl"
"""The file of all trials."""
MOST_LARGE = 40
"""Maximum number of failing tests where several places are changed, or there is a request."""
MOST_HUNKS = 10
"""Most pieces that a repair has: each costs a turn, and an episode has few."""
TRIES_PER_TASK = 6
"""Maximum number of trials per requested task."""
_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".git", "*.pyc", ".pytest_cache", "*.egg-info", ".tox", ".venv"
)


@dataclass
class BuildProgress:
    """How far the work on a library is."""

    library: str
    """Its name."""
    target: int
    """Number of tasks requested."""
    candidates: int = 0
    """Faults, or pairs, that were looked at."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Outcomes of the candidates tried, in this run and in earlier ones."""
    seconds: float = 0.0
    """How long the trials took."""
    tests: int = 0
    """Tests that can be relied on."""
    flaky: int = 0
    """Tests that are left out because they do not always come out alike."""

    @property
    def trials(self) -> int:
        """Candidates that were tried."""
        return sum(self.outcomes.values())

    @property
    def usable(self) -> int:
        """Tasks so far."""
        return self.outcomes["usable"]


Watch = Callable[[BuildProgress], None]


class TaskFolder:
    """A folder of tasks that grows.

    Args:
        folder: The folder; existing tasks are kept.

    Raises:
        DataError: It holds something else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repositories: dict[str, Repository] = {}
        self.records: dict[str, InstanceRecord] = {}
        self.trials: list[dict[str, object]] = []
        folder.mkdir(parents=True, exist_ok=True)
        for name in (INSTANCES, TRIALS):
            drop_cut_line(folder / name)
        if (folder / INSTANCES).exists():
            for entry in read_lines(folder / INSTANCES):
                if isinstance(entry, Repository):
                    self.repositories[entry.name] = entry
                else:
                    self.records[entry.id] = entry
        if (folder / TRIALS).exists():
            for line in split_lines((folder / TRIALS).read_text("utf-8")):
                self.trials.append(json.loads(line))

    def hold(self, source: Path, name: str) -> Path:
        """Copy a repository into the folder, unless it is there; return its path.

        Raises:
            DataError: Another one of this name is there.
        """
        target = self.folder / REPOSITORIES / name
        if not target.exists():
            scratch = target.with_name(f".{name}.{os.getpid()}")
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(source, scratch, ignore=_LEFT_OUT, symlinks=False)
            publish(scratch, target)
        repository = self.repositories.get(name)
        if repository is not None and repository.digest != digest(target):
            raise DataError(
                f"expected the repository {target} as it was when {self.folder} was begun, but its "
                "files have changed; choose another folder"
            )
        return target

    def add(self, entry: Repository | InstanceRecord) -> None:
        """Append a repository or a task."""
        append_line(self.folder / INSTANCES, entry.line())
        if isinstance(entry, Repository):
            self.repositories[entry.name] = entry
        else:
            self.records[entry.id] = entry

    def log(self, **fields: object) -> None:
        """Append a trial."""
        self.trials.append(fields)
        append_line(self.folder / TRIALS, json.dumps(fields) + "\n")


def build_tasks(
    source: Path,
    output: Path,
    kinds: Mapping[str, int],
    *,
    name: str | None = None,
    regressions: Path | None = None,
    release_before: str = "",
    seed: int = 0,
    boxes: Boxes | None = None,
    timeout: float = 120.0,
    split: str = "",
    watch: Watch | None = None,
) -> BuildProgress:
    """Make tasks by changing a library so that its tests notice it.

    Args:
        source: The sound repository, with its tests.
        output: Folder of the tasks; it may hold some of this or of other libraries.
        kinds: Most tasks of each kind, by its name in `KINDS`.
        name: Name of the repository; that of its folder if left out.
        regressions: Folder of patches, each of which puts a regression into it.
        release_before: The release in which these regressions were not yet.
        seed: Seed of the order of the candidates and of the wording of the issues.
        boxes: How boxes are opened.
        timeout: Most seconds of one run of the tests.
        split: Split of the tasks; empty: dealt when they are opened.
        watch: Called after every trial.

    Returns:
        What came of it.

    Raises:
        DataError: There is no Python in the repository, or there are no tests that pass.
    """
    name = name or source.name
    task_folder = TaskFolder(output)
    folder = task_folder.hold(source, name)
    library = LibrarySource.read(folder, regressions, release_before)
    if not any(True for _ in library.functions()):
        raise DataError(f"expected Python files with functions in {source}, got none")
    progress = BuildProgress(name, sum(kinds.values()))
    with Workbench(folder, boxes, timeout) as bench:
        baseline = _baseline(bench, task_folder, name)
        progress.tests, progress.flaky = len(baseline.tests), len(baseline.flaky)
        finished = _resume(task_folder, name, progress)
        for kind, limit in kinds.items():
            order = KINDS[kind](library, _stream(kind, name, seed), limit)
            candidates = itertools.islice(order, limit * 20)
            maker = _Maker(task_folder, bench, baseline, library, kind, name, split, seed)
            maker.make(candidates, limit, finished.setdefault(kind, _Done()), progress, watch)
    return progress


def _stream(kind: str, name: str, seed: int) -> Stream:
    """Return where the order of the candidates of a kind comes from."""
    more = () if kind == "mutation" else (kind,)
    return Stream("swe", GENERATOR_VERSION, name, seed, *more)


@dataclass
class _Done:
    """The progress of earlier runs with one kind."""

    keys: set[tuple[str | int, ...]] = field(default_factory=set)
    """Candidates that were tried."""
    usable: int = 0
    """Number of tasks made from them."""


@dataclass(frozen=True)
class _Maker:
    """Tries the candidates of one kind, and records their outcomes."""

    task_folder: TaskFolder
    bench: Workbench
    baseline: SoundRun
    library: LibrarySource
    kind: str
    name: str
    split: str
    seed: int

    def make(
        self,
        order: Iterable[Candidate],
        limit: int,
        finished: _Done,
        progress: BuildProgress,
        watch: Watch | None,
    ) -> None:
        """Try candidates until there are enough tasks, or too many did not make one."""
        places = {
            _place(record)
            for record in self.task_folder.records.values()
            if record.repo == self.name
        }
        for candidate in order:
            if finished.usable >= limit or len(finished.keys) >= limit * TRIES_PER_TASK + 20:
                break
            progress.candidates += 1
            if candidate.key in finished.keys or (candidate.kind, candidate.place) in places:
                continue
            started = time.monotonic()
            trial = _try(self.bench, self.baseline, candidate, self.library)
            if trial.outcome == "usable":
                record = self._record(candidate, trial)
                trial = trial if record.statement else replace(trial, outcome="not told")
                if record.statement:
                    self.task_folder.add(record)
                    places.add(_place(record))
                    finished.usable += 1
            seconds = time.monotonic() - started
            finished.keys.add(candidate.key)
            progress.outcomes[trial.outcome] += 1
            progress.seconds += seconds
            self._log(candidate, trial, seconds)
            if watch:
                watch(progress)

    def _record(self, candidate: Candidate, trial: Trial) -> InstanceRecord:
        """Write the task of a usable candidate."""
        numbers = {test: number for number, test in enumerate(self.baseline.tests)}
        wording = Stream("swe statement", GENERATOR_VERSION, self.seed, self.name, *candidate.key)
        text, details = self._write_issue(candidate, trial, wording)
        return InstanceRecord(
            id=self._next_id(),
            repo=self.name,
            statement=text,
            edits=candidate.edits,
            fail_to_pass=tuple(numbers[test] for test in trial.failing),
            split=self.split,
            patch=repairing_patch(self.bench.folder, candidate),
            details=tuple(details.items()),
        )

    def _next_id(self) -> str:
        """Return the id of the next task: it does not depend on how far other kinds are."""
        head = f"{self.name}-" if self.kind == "mutation" else f"{self.name}-{self.kind}-"
        numbers = (
            id_.removeprefix(head) for id_ in self.task_folder.records if id_.startswith(head)
        )
        return f"{head}{sum(number.isdigit() for number in numbers) + 1:03d}"

    def _write_issue(
        self, candidate: Candidate, trial: Trial, wording: Stream
    ) -> tuple[str, dict[str, str]]:
        """Write the issue of a candidate and the facts about it."""
        library, symptoms = library_name(self.name), trial.symptoms
        if self.kind == "mutation":
            return statement(library, symptoms, wording), {"kind": candidate.kind}
        request, releases = candidate.request, candidate.releases
        style, text = report(library, symptoms, wording, request, releases=releases)
        size = size_of(self.bench.folder, candidate)
        return text, {
            "kind": candidate.kind,
            "place": candidate.place,
            "issue": style,
            "files": str(size.files),
            "lines": str(size.lines),
            "difficulty": size.difficulty,
        }

    def _log(self, candidate: Candidate, trial: Trial, seconds: float) -> None:
        self.task_folder.log(
            repo=self.name,
            task=self.kind,
            kind=candidate.kind,
            edit=[*candidate.key],
            outcome=trial.outcome,
            failing=len(trial.failing),
            seconds=round(seconds, 2),
            symptoms=[asdict(symptom) for symptom in trial.symptoms],
        )


def _place(record: InstanceRecord) -> tuple[str, str]:
    """Return the key that no two tasks of a library share, if it is known."""
    facts = dict(record.details)
    return facts["kind"], facts.get("place", record.id)


def _baseline(bench: Workbench, task_folder: TaskFolder, name: str) -> SoundRun:
    """Run the sound tests; where tasks exist already, their numbers of tests stay valid."""
    baseline = bench.baseline()
    repository = task_folder.repositories.get(name)
    if repository is None:
        task_folder.add(Repository(name, digest(bench.folder), baseline.tests))
        return baseline
    failing = [test for test in repository.tests if test not in set(baseline.tests)]
    if failing:
        raise DataError(
            f"expected the tests of {name} to pass as before, but {len(failing)} of them do not, "
            f"such as {failing[0]}; choose another folder than {task_folder.folder} and begin anew"
        )
    return replace(baseline, tests=repository.tests)


def _resume(task_folder: TaskFolder, name: str, progress: BuildProgress) -> dict[str, _Done]:
    """Load the progress of earlier runs, by kind of task."""
    finished: dict[str, _Done] = {}
    for entry in task_folder.trials:
        if entry["repo"] == name:
            kind_done = finished.setdefault(str(entry.get("task", "mutation")), _Done())
            kind_done.keys.add(_key(entry["edit"]))
            kind_done.usable += entry["outcome"] == "usable"
            progress.outcomes[str(entry["outcome"])] += 1
            progress.seconds += float(str(entry["seconds"]))
    for record in task_folder.records.values():  # written just before the process was killed
        key = tuple(v for e in record.edits for v in (e.path, e.start, e.old, e.new))
        if record.repo == name and not any(
            key in kind_done.keys for kind_done in finished.values()
        ):
            kind = str(dict(record.details)["kind"]).replace(" ", "-")
            kind_done = finished.setdefault(kind if kind in KINDS else "mutation", _Done())
            kind_done.keys.add(key)
            kind_done.usable += 1
            progress.outcomes["usable"] += 1
    return finished


def _key(edit: Any) -> tuple[str | int, ...]:
    """Return the key of a candidate."""
    return tuple(value if isinstance(value, int) else str(value) for value in edit)


def _try(
    bench: Workbench, baseline: SoundRun, candidate: Candidate, library: LibrarySource
) -> Trial:
    """Put a fault into the repository and run its tests."""
    if not library.changed(candidate):
        return Trial("no fault")

    def files(edits: Sequence[Edit]) -> dict[str, bytes | None]:
        return {**edited_files(lambda path: library.sources[path].content, edits)}

    if hunks(bench.folder, candidate) > MOST_HUNKS:
        return Trial("too many places")
    parts: list[frozenset[str]] = []
    for part in candidate.parts if len(candidate.parts) > 1 else ():
        parts.append(bench.failing(baseline, files(part)))
        if not parts[-1]:
            return Trial("part unnoticed")
    max_failing = (
        MOST_FAILING if len(candidate.edits) == 1 and not candidate.request else MOST_LARGE
    )
    trial = bench.trial(baseline, files(candidate.edits), max_failing, parts=parts)
    if trial.outcome == "usable" and candidate.repair:
        faulty = {path: content or b"" for path, content in files(candidate.edits).items()}
        repaired = edited_files(faulty.__getitem__, candidate.repair)
        if bench.failing(baseline, {**faulty, **repaired}):
            return Trial("bad repair")
    return trial


def library_name(repository: str) -> str:
    """Return the name of a library without the version behind it."""
    head, dash, tail = repository.rpartition("-")
    return head if dash and tail[:1].isdigit() else repository


def summary(rows: Iterable[BuildProgress]) -> list[tuple[str, ...]]:
    """Return the outcome of libraries as the cells of a table.

    Args:
        rows: One per library.

    Returns:
        Name, tests, flaky tests, candidates, tried, usable, share, seconds per trial and other
        outcomes of each.
    """
    table = []
    for row in rows:
        other_counts = {
            key: count for key, count in sorted(row.outcomes.items()) if key != "usable"
        }
        share = f"{row.usable / row.trials:.0%}" if row.trials else "-"
        seconds_text = f"{row.seconds / row.trials:.1f}" if row.trials else "-"
        words = ", ".join(f"{count} {key}" for key, count in other_counts.items())
        counts = (row.tests, row.flaky, row.candidates, row.trials, row.usable)
        table.append((row.library, *map(str, counts), share, seconds_text, words))
    return table
