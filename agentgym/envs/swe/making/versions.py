"""Tasks from two releases of a library: the tests of the later one, on the source of the earlier.

The agent gets the earlier release. The solution is the later one's change of the source, and its
changed tests are installed before grading. Pairs that change too much make no task.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from agentgym.envs.swe.diffs import changed_lines
from agentgym.envs.swe.edits import write_diff
from agentgym.envs.swe.grading.protection import is_protected
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.changelog import entries
from agentgym.envs.swe.making.fault_trials import SoundRun, Trial, Workbench
from agentgym.envs.swe.making.mutation import source_files
from agentgym.envs.swe.making.statements import release_statement
from agentgym.envs.swe.making.task_builder import (
    GENERATOR_VERSION,
    BuildProgress,
    TaskFolder,
    Watch,
    library_name,
)
from agentgym.envs.swe.stored_instances import InstanceRecord, Repository, digest
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.random_stream import Stream

MOST_LINES = 200
"""Most lines of a solution that are added or removed."""
_VERSION = re.compile(r"\d+(?:\.\d+)+\w*")


@dataclass(frozen=True)
class Pair:
    """Two releases, compared."""

    old: Path
    """The earlier release."""
    new: Path
    """The later release."""
    source: dict[str, bytes | None]
    """Files of the library that differ, as they are in the later one."""
    tests: dict[str, bytes | None]
    """Files of the tests that differ."""

    @property
    def patch(self) -> str:
        """The solution."""
        return self._diff(self.source)

    @property
    def test_patch(self) -> str:
        """The patch that brings the tests of the later release."""
        return self._diff(self.tests)

    @property
    def lines(self) -> int:
        """Lines of the solution that are added or removed."""
        return changed_lines(self.patch)

    def _diff(self, files: dict[str, bytes | None]) -> str:
        old_contents = {
            path: (self.old / path).read_bytes() for path in files if _has(self.old, path)
        }
        return write_diff(
            old_contents, {path: content for path, content in files.items() if content is not None}
        )


def compare(old: Path, new: Path) -> Pair:
    """Compare two releases."""
    library = sorted({*source_files(old), *source_files(new)})
    tests = sorted({*_tests(old), *_tests(new)} - set(library))
    return Pair(old, new, _changed(old, new, library), _changed(old, new, tests))


def build_versions(
    releases: Sequence[Path],
    output: Path,
    *,
    seed: int = 0,
    boxes: Boxes | None = None,
    timeout: float = 120.0,
    split: str = "",
    watch: Watch | None = None,
) -> BuildProgress:
    """Make tasks from releases of a library, one at most from each two that follow each other.

    Args:
        releases: Folders of the releases, from old to new.
        output: Folder of the tasks.
        seed: Seed of the wording of the issues.
        boxes: How boxes are opened.
        timeout: Most seconds of one run of the tests.
        split: Split of the tasks; empty: dealt when they are opened.
        watch: Called after every pair.

    Returns:
        The outcome.

    Raises:
        ConfigurationError: There are fewer than two releases.
    """
    if len(releases) < 2:
        raise ConfigurationError(
            f"expected two or more releases from old to new, got {len(releases)}; name them one "
            "after the other, such as parse==1.19.0 parse==1.19.1"
        )
    task_folder = TaskFolder(output)
    library = library_name(releases[0].name)
    progress = BuildProgress(library, len(releases) - 1, len(releases) - 1)
    for old, new in pairwise(releases):
        name = f"{old.name}..{new.name}"
        trials = [entry for entry in task_folder.trials if entry["repo"] == name]
        for entry in trials:
            progress.outcomes[str(entry["outcome"])] += 1
            progress.seconds += float(str(entry["seconds"]))
        if trials:
            continue
        started = time.monotonic()
        outcome = _pair(task_folder, library, old, new, seed, boxes, timeout, split, progress)
        seconds = time.monotonic() - started
        progress.outcomes[outcome] += 1
        progress.seconds += seconds
        task_folder.log(repo=name, outcome=outcome, seconds=round(seconds, 2))
        if watch:
            watch(progress)
    return progress


def _pair(
    task_folder: TaskFolder,
    library: str,
    old: Path,
    new: Path,
    seed: int,
    boxes: Boxes | None,
    timeout: float,
    split: str,
    progress: BuildProgress,
) -> str:
    """Make the task of a pair, if it has one; return the outcome."""
    pair = compare(old, new)
    if not pair.source:
        return "same source"
    if pair.lines > MOST_LINES:
        return "too much changed"
    if old.name in task_folder.repositories:
        return "usable"
    with Workbench(old, boxes, timeout, sound={**pair.source, **pair.tests}) as bench:
        try:
            baseline = bench.baseline()
        except DataError:
            return "tests do not pass"
        progress.tests = max(progress.tests, len(baseline.tests))
        progress.flaky += len(baseline.flaky)
        trial = bench.trial(baseline, pair.tests, complete=False)
    if trial.outcome == "usable":
        return _write(task_folder, library, pair, baseline, trial, seed, split)
    return trial.outcome


def _write(
    task_folder: TaskFolder,
    library: str,
    pair: Pair,
    baseline: SoundRun,
    trial: Trial,
    seed: int,
    split: str,
) -> str:
    """Write the task of a pair."""
    wording = Stream("swe versions", GENERATOR_VERSION, seed, pair.old.name, pair.new.name)
    version = _version(pair.new)
    text = release_statement(
        library, _version(pair.old), entries(pair.new, version), trial.symptoms, wording
    )
    if not text:
        return "not told"
    folder = task_folder.hold(pair.old, pair.old.name)
    task_folder.add(Repository(pair.old.name, digest(folder), baseline.tests))
    numbers = {test: number for number, test in enumerate(baseline.tests)}
    task_folder.add(
        InstanceRecord(
            id=f"{pair.old.name}..{version}",
            repo=library,
            statement=text,
            edits=(),
            fail_to_pass=tuple(numbers[test] for test in trial.failing),
            split=split,
            patch=pair.patch,
            test_patch=pair.test_patch,
            folder=pair.old.name,
            details=(("kind", "release"),),
        )
    )
    return "usable"


def _tests(folder: Path) -> list[str]:
    """Return the files that belong to the tests of a release."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = (path.relative_to(folder).as_posix() for path in paths)
    return [name for name in names if is_protected(name) and "test" in name and _text(name)]


def _text(name: str) -> bool:
    return not name.endswith((".pyc", ".so", ".zip", ".gz", ".png", ".egg", ".whl"))


def _changed(old: Path, new: Path, paths: Sequence[str]) -> dict[str, bytes | None]:
    """Return the files that differ, as they are in the later release."""
    changes: dict[str, bytes | None] = {}
    for path in paths:
        old_content = (old / path).read_bytes() if _has(old, path) else None
        new_content = (new / path).read_bytes() if _has(new, path) else None
        if old_content != new_content:
            changes[path] = new_content
    return changes


def _has(folder: Path, path: str) -> bool:
    return (folder / path).is_file()


def _version(folder: Path) -> str:
    """Return the version in the name of a folder."""
    match = _VERSION.search(folder.name.rpartition("-")[2])
    return match[0] if match else folder.name
