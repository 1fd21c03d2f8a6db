"""Making tasks from a repository: try fault after fault, and write down each that is usable.

Everything is written as it happens, so a run that is cut off, by whatever means, goes on where it
stopped: ``instances.jsonl`` grows by a line for each task, ``trials.jsonl`` by one for each trial.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from agentgym.envs.swe.edits import apply_edits
from agentgym.envs.swe.generator.fault_trials import Baseline, Trial, Workbench
from agentgym.envs.swe.generator.mutation import (
    Mutation,
    diverse,
    is_fault,
    mutations,
    source_files,
)
from agentgym.envs.swe.generator.statements import statement
from agentgym.envs.swe.generator.stored_instances import (
    INSTANCES,
    REPOSITORIES,
    InstanceRecord,
    Repository,
    digest,
    read_lines,
)
from agentgym.envs.swe.instance import Edit
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.errors import DataError
from agentgym.support.caching import publish
from agentgym.support.growing_file import append_line, drop_cut_line
from agentgym.support.random_stream import Stream

GENERATOR_VERSION = 1
"""Raised when a seed would give other tasks."""
TRIALS = "trials.jsonl"
"""The file of all trials."""
TRIES_PER_TASK = 6
"""Most trials for each task that is asked for."""
_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".git", "*.pyc", ".pytest_cache", "*.egg-info", ".tox", ".venv"
)


@dataclass
class BuildProgress:
    """How far the work on a library is."""

    library: str
    """Its name."""
    wanted: int
    """Tasks that are asked for, at most."""
    candidates: int = 0
    """Faults, or pairs, that there are."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """What became of those that were tried, in this run and in earlier ones."""
    seconds: float = 0.0
    """How long the trials took."""
    tests: int = 0
    """Tests that can be relied on."""
    flaky: int = 0
    """Tests that are left out because they do not always come out alike."""

    @property
    def tried(self) -> int:
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
        folder: The folder; what lies there already is kept.

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
            for line in (folder / TRIALS).read_text("utf-8").splitlines():
                self.trials.append(json.loads(line))

    def hold(self, source: Path, name: str) -> Path:
        """Copy a repository into the folder, unless it is there; return where it lies.

        Raises:
            DataError: Another one of this name is there.
        """
        target = self.folder / REPOSITORIES / name
        if not target.exists():
            scratch = target.with_name(f".{name}.{os.getpid()}")
            shutil.rmtree(scratch, ignore_errors=True)
            shutil.copytree(source, scratch, ignore=_LEFT_OUT, symlinks=False)
            publish(scratch, target)
        known = self.repositories.get(name)
        if known is not None and known.digest != digest(target):
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


def build_mutations(
    source: Path,
    output: Path,
    *,
    name: str | None = None,
    limit: int = 50,
    seed: int = 0,
    boxes: Boxes | None = None,
    timeout: float = 120.0,
    split: str = "train",
    watch: Watch | None = None,
) -> BuildProgress:
    """Make tasks by putting faults into a library.

    Args:
        source: The sound repository, with its tests.
        output: Folder of the tasks; it may hold some of this or of other libraries.
        name: Name of the repository; that of its folder if left out.
        limit: Most tasks.
        seed: Seed of the order of the faults and of the wording of the issues.
        boxes: How boxes are opened.
        timeout: Most seconds of one run of the tests.
        split: Split of the tasks.
        watch: Called after every trial.

    Returns:
        What came of it.

    Raises:
        DataError: There is no Python in the repository, or there are no tests that pass.
    """
    name = name or source.name
    held = TaskFolder(output)
    folder = held.hold(source, name)
    candidates = mutations(folder, source_files(folder))
    if not candidates:
        raise DataError(f"expected Python files with functions in {source}, got none")
    progress = BuildProgress(name, limit, len(candidates))
    with Workbench(folder, boxes, timeout) as bench:
        baseline = _baseline(bench, held, name)
        progress.tests, progress.flaky = len(baseline.tests), len(baseline.flaky)
        tried = _resume(held, name, progress)
        order = diverse(candidates, Stream("swe", GENERATOR_VERSION, name, seed), limit * 20)
        for mutation in order:
            if progress.usable >= limit or progress.tried >= limit * TRIES_PER_TASK + 20:
                break
            if mutation.key in tried:
                continue
            started = time.monotonic()
            trial = _try(bench, baseline, mutation)
            if trial.outcome == "usable":
                record = _record(held, name, split, mutation, trial, baseline, seed)
                trial = trial if record.statement else replace(trial, outcome="not told")
                if record.statement:
                    held.add(record)
            seconds = time.monotonic() - started
            progress.outcomes[trial.outcome] += 1
            progress.seconds += seconds
            _log(held, name, mutation, trial, seconds)
            if watch:
                watch(progress)
    return progress


def _baseline(bench: Workbench, held: TaskFolder, name: str) -> Baseline:
    """Run the sound tests; where tasks exist already, their numbers of tests stay valid."""
    baseline = bench.baseline()
    known = held.repositories.get(name)
    if known is None:
        held.add(Repository(name, digest(bench.folder), baseline.tests))
        return baseline
    lost = [test for test in known.tests if test not in set(baseline.tests)]
    if lost:
        raise DataError(
            f"expected the tests of {name} to pass as before, but {len(lost)} of them do not, such "
            f"as {lost[0]}; choose another folder than {held.folder} and begin anew"
        )
    return replace(baseline, tests=known.tests)


def _resume(held: TaskFolder, name: str, progress: BuildProgress) -> set[tuple[str, int, str, str]]:
    """Take over what earlier runs have done; return the faults that were tried."""
    tried: set[tuple[str, int, str, str]] = set()
    for entry in held.trials:
        if entry["repo"] == name:
            tried.add(_key(entry["edit"]))
            progress.outcomes[str(entry["outcome"])] += 1
            progress.seconds += float(str(entry["seconds"]))
    for record in held.records.values():  # written just before the process was killed
        for edit in record.edits if record.repo == name else ():
            key = (edit.path, edit.start, edit.old, edit.new)
            if key not in tried:
                tried.add(key)
                progress.outcomes["usable"] += 1
    return tried


def _key(edit: Any) -> tuple[str, int, str, str]:
    """Read what tells a fault from every other."""
    path, start, old, new = edit
    return str(path), int(start), str(old), str(new)


def _try(bench: Workbench, baseline: Baseline, mutation: Mutation) -> Trial:
    """Put a fault into the repository and run its tests."""
    content = (bench.folder / mutation.edit.path).read_bytes()
    if not is_fault(content, mutation):
        return Trial("no fault")
    return bench.trial(baseline, {mutation.edit.path: apply_edits(content, [mutation.edit])})


def _record(
    held: TaskFolder,
    name: str,
    split: str,
    mutation: Mutation,
    trial: Trial,
    baseline: Baseline,
    seed: int,
) -> InstanceRecord:
    """Write the task of a usable fault."""
    numbers = {test: number for number, test in enumerate(baseline.tests)}
    count = sum(record.repo == name for record in held.records.values())
    wording = Stream("swe statement", GENERATOR_VERSION, seed, name, *mutation.key)
    return InstanceRecord(
        id=f"{name}-{count + 1:03d}",
        repo=name,
        statement=statement(library_name(name), trial.symptoms, wording),
        edits=(mutation.edit,),
        fail_to_pass=tuple(numbers[test] for test in trial.failing),
        split=split,
        details=(("kind", mutation.kind),),
    )


def library_name(repository: str) -> str:
    """Return the name of a library without the version behind it."""
    head, dash, tail = repository.rpartition("-")
    return head if dash and tail[:1].isdigit() else repository


def _log(held: TaskFolder, name: str, mutation: Mutation, trial: Trial, seconds: float) -> None:
    edit: Edit = mutation.edit
    held.log(
        repo=name,
        kind=mutation.kind,
        edit=[edit.path, edit.start, edit.old, edit.new],
        outcome=trial.outcome,
        failing=len(trial.failing),
        seconds=round(seconds, 2),
        symptoms=[asdict(symptom) for symptom in trial.symptoms],
    )


def summary(rows: Iterable[BuildProgress]) -> list[tuple[str, ...]]:
    """Return what came of libraries as the cells of a table.

    Args:
        rows: One per library.

    Returns:
        Name, tests, flaky tests, candidates, tried, usable, share, seconds per trial and other
        outcomes of each.
    """
    table = []
    for row in rows:
        other = {key: count for key, count in sorted(row.outcomes.items()) if key != "usable"}
        share = f"{row.usable / row.tried:.0%}" if row.tried else "-"
        each = f"{row.seconds / row.tried:.1f}" if row.tried else "-"
        words = ", ".join(f"{count} {key}" for key, count in other.items())
        counts = (row.tests, row.flaky, row.candidates, row.tried, row.usable)
        table.append((row.library, *map(str, counts), share, each, words))
    return table
