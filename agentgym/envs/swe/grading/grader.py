"""Run the tests on an agent's edits, in a fresh box, so that nothing but the edits can decide."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from agentgym.envs.swe.boxes import Boxes, write_files
from agentgym.envs.swe.diffs import apply_diff, read_diff
from agentgym.envs.swe.grading.image import run_in_image
from agentgym.envs.swe.grading.protection import Changes, Edits, source_edits
from agentgym.envs.swe.grading.report import FAILED, LARGEST_REPORT, PASSED, read_junit
from agentgym.envs.swe.grading.suspicion import suspicious_edits
from agentgym.envs.swe.grading.verdict import Grade, judge, nothing_done
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.runtime import WORKDIR
from agentgym.envs.swe.trees import contents
from agentgym.sandbox import Sandbox

# As ``python -P`` does from 3.11 on: without the working directory, whose files could take the
# place of pytest's and of the standard library's.
_PYTEST = "import sys; sys.path[:1] = []; import pytest; raise SystemExit(pytest.console_main())"
_OPTIONS = (
    "-c", "/dev/null", f"--rootdir={WORKDIR}", "-p", "no:cacheprovider", "-q", "--tb=no",
    "--continue-on-collection-errors", "-o", "junit_family=xunit1",
)  # fmt: skip
_CANARIES = "def test_{bad}():\n    assert False\n\n\ndef test_{good}():\n    assert True\n"


@dataclass(frozen=True)
class TestRun:
    """What a run of tests gave."""

    __test__ = False  # no test, although pytest would take it for one

    statuses: Mapping[str, str]
    """Status of each test by its id."""
    sound: bool
    """Whether the canaries came out as they must."""
    reason: str = ""
    """What went wrong, for people; empty where nothing did."""


@dataclass(frozen=True)
class Grader:
    """Grades changes of a repository.

    Only edits of the source are taken over (:mod:`agentgym.envs.swe.grading.protection`), into a
    fresh box whose tests, configuration and history nobody has touched. pytest reads no
    configuration of the repository and is found before it. Two canaries under random names run
    with the tests: one has to fail and one to pass, and the exit code has to say that something
    failed. Where they do not, the run was tampered with, and nothing counts.
    """

    boxes: Boxes
    """How boxes are opened."""
    timeout: float = 120.0
    """Seconds that the tests may take."""

    def edits(self, instance: Instance, changes: Changes) -> Edits:
        """Return which of an agent's changes count."""
        known: Collection[str] = ()
        if isinstance(instance.source, FolderSource):
            known = contents(instance.source)
        return source_edits(changes, known, solution_paths(instance), instance.protected)

    def grade(self, instance: Instance, changes: Changes) -> Grade:
        """Grade an agent's changes.

        Args:
            instance: The instance.
            changes: Files under the repository that differ from what the agent was given; None for
                those that it deleted.

        Raises:
            EnvFailure: The box failed.
        """
        edits = self.edits(instance, changes)
        if isinstance(instance.source, FolderSource):
            before = contents(instance.source)
            run = self.run(instance, edits.counted)
            grade = judge(instance, run.statuses)
            if not run.sound:
                grade = _unsound(instance, grade, run.reason)
        else:
            before = {}
            statuses, reason = run_in_image(self.boxes, instance, edits.counted, self.timeout)
            grade = nothing_done(instance, reason) if reason else _by_log(instance, statuses)
        flags = suspicious_edits(edits.counted, before)
        return replace(grade, suspicious=flags, ignored=edits.ignored)

    def run(self, instance: Instance, edits: Changes, tests: Iterable[str] = ()) -> TestRun:
        """Run the tests of a repository of a folder on edits of it, all of which are taken over.

        Args:
            instance: The instance.
            edits: Files that differ from the repository with its fault.
            tests: Files or ids of tests; none: the files that hold the tests of the instance.

        Raises:
            EnvFailure: The box failed.
        """
        assert isinstance(instance.source, FolderSource)
        before = contents(instance.source)
        hidden = apply_diff(instance.test_patch, before.get) if instance.test_patch else {}
        chosen = tuple(tests) or test_files(instance)
        with self.boxes.open(instance, grading=True) as box:
            try:
                write_files(box, {**edits, **hidden})
            except OSError as error:
                return TestRun({}, False, f"the edits cannot be written: {error}"[:300])
            return self._run(box, chosen)

    def _run(self, box: Sandbox, chosen: Collection[str]) -> TestRun:
        """Run tests together with canaries, and read the report."""
        first = next(iter(sorted(chosen)), "").partition("::")[0]
        folder, _, last = first.rpartition("/")
        if not last.endswith(".py"):  # a folder of tests, or nothing
            folder = first.rstrip("/")
        bad, good, name, report = (f"n{secrets.token_hex(8)}" for _ in range(4))
        canary = f"{folder}/test_{name}.py" if folder else f"test_{name}.py"
        box.write(canary, _CANARIES.format(bad=bad, good=good).encode())
        report = f"/tmp/{report}.xml"
        arguments = ("python3", "-c", _PYTEST, *_OPTIONS, f"--junitxml={report}", *chosen, canary)
        result = box.exec(shlex.join(arguments), timeout=self.timeout)
        if result.timed_out:
            return TestRun({}, False, f"the tests took longer than {self.timeout:g} s")
        try:
            statuses = dict(read_junit(box.read(report, LARGEST_REPORT + 1)))
        except FileNotFoundError:
            statuses = {}
        found = [statuses.pop(f"{canary}::test_{one}", "") for one in (bad, good)]
        if found == [FAILED, PASSED] and result.exit_code == 1:
            return TestRun(statuses, True)
        return TestRun(
            statuses, False, f"the tests did not run to their end (exit code {result.exit_code})"
        )


def test_files(instance: Instance) -> tuple[str, ...]:
    """Return the files that hold the tests of an instance."""
    tests = (*instance.fail_to_pass, *instance.pass_to_pass)
    return tuple(sorted({test.partition("::")[0] for test in tests}))


test_files.__test__ = False  # type: ignore[attr-defined]


def solution_paths(instance: Instance) -> frozenset[str]:
    """Return the files that the right solution touches; their changes always count."""
    found = [path for one in read_diff(instance.patch) for path in (one.before, one.after)]
    return frozenset(path for path in found if path)


def _unsound(instance: Instance, claimed: Grade, reason: str) -> Grade:
    """Return the grade of a run whose canaries are wrong."""
    if claimed.fixed:  # A run that merely broke off has nothing good to report.
        return replace(
            nothing_done(instance, "the run of the tests was tampered with"), tampered=True
        )
    return replace(nothing_done(instance, reason), broken=claimed.broken)


def _by_log(instance: Instance, statuses: Mapping[str, str]) -> Grade:
    """Judge what the log of a published set's own test command says."""
    return judge(instance, statuses, lenient=True)
