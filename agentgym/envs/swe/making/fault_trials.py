"""Whether a fault makes a task: a repository's tests, run in a box, decide.

A fault is usable if between 1 and :data:`MOST_FAILING` tests fail with it, in every one of several
runs the same, while the whole suite is still collected and ends in time. Tests that do not always
come out alike on the sound repository never count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from agentgym.envs.swe.grading.test_run import TestRun, run_tests
from agentgym.envs.swe.instance import FolderSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, write_files
from agentgym.envs.swe.making.reproduction import ParsedTests, Reproduction
from agentgym.envs.swe.making.statements import ScriptOutcome, Symptom
from agentgym.errors import DataError
from agentgym.sandbox import Sandbox, SandboxDied
from agentgym.support.text_lines import split_lines

if TYPE_CHECKING:
    from typing_extensions import Self

MOST_FAILING = 20
"""Most tests that may fail: a fault that breaks more is found at a glance."""
RUNS = 2
"""Runs of the tests that must come out alike."""
SCRIPTS = 4
"""Most failing tests that are turned into scripts."""
OUTCOMES = (
    "usable",
    "survived",
    "too many",
    "not collected",
    "too slow",
    "unstable",
    "no fault",
    "not told",
    "too many places",
    "part unnoticed",
    "bad repair",
)
"""The outcome of a candidate."""

Files = Mapping[str, "bytes | None"]
_DRIVER = """\
import contextlib, io, json, sys, traceback
sys.path[:1] = []
printed, error = io.StringIO(), ""
try:
    with contextlib.redirect_stdout(printed):
        with open(sys.argv[1]) as file:
            code = compile(file.read(), "example.py", "exec")
        exec(code, {"__name__": "__main__"})
except BaseException as caught:
    error = "".join(traceback.format_exception_only(type(caught), caught)).strip()
sys.stdout.write("\\0" + json.dumps([printed.getvalue()[:4000], error[:2000]]) + "\\n")
"""
_MODULE = re.compile(r"^(?:\w+\.)+(?=\w+(?::|$))")


@dataclass(frozen=True)
class SoundRun:
    """How the tests of a sound repository come out."""

    tests: tuple[str, ...]
    """Tests that pass every time, in the order in which they run."""
    flaky: tuple[str, ...]
    """Tests that pass only sometimes; they are left out of everything."""
    collected: tuple[str, ...]
    """All tests of the files that hold them, whatever becomes of them, in this order."""
    seconds: float
    """How long a run takes."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that hold tests that count."""
        return tuple(sorted({test.partition("::")[0] for test in self.tests}))


@dataclass(frozen=True)
class Trial:
    """The test outcome of a changed repository."""

    outcome: str
    """One of :data:`OUTCOMES`."""
    failing: tuple[str, ...] = ()
    """Tests that fail now, in the order in which they run."""
    symptoms: tuple[Symptom, ...] = ()
    """The fault as the failing tests show it."""


class Workbench:
    """A repository in a box, whose tests run again and again on changed files.

    Args:
        folder: The sound repository; never written to.
        boxes: How the box is opened.
        timeout: Most seconds of one run of the tests.
        sound: Files that make the repository sound, if the folder itself is not.
    """

    def __init__(
        self,
        folder: Path,
        boxes: Boxes | None = None,
        timeout: float = 120.0,
        sound: Files | None = None,
    ) -> None:
        self.folder = folder
        self._sound_files = sound or {}
        self.timeout = timeout
        self._boxes = boxes or Boxes()
        self._box: Sandbox | None = None
        self._suites: dict[str, ParsedTests | None] = {}
        self._outcomes: dict[str, ScriptOutcome] = {}

    def __enter__(self) -> Self:
        """Open the box."""
        name = self.folder.name
        stub = Instance(name, name, "", FolderSource(self.folder), "", (), ())
        self._box = self._boxes.open(stub, grading=True)
        return self

    def __exit__(self, *error: object) -> None:
        """Close the box."""
        if self._box is not None:
            self._box.close()
            self._box = None

    def baseline(self) -> SoundRun:
        """Run the tests of the sound repository until it is known which can be relied on.

        Raises:
            DataError: There are none, or most of them fail.
        """
        first = self._run(self._sound_files, ())
        if first.timed_out:
            raise DataError(
                f"expected the tests of {self.folder.name} to end within {self.timeout:g} s; give "
                "them more time (--timeout), or choose a library with faster tests"
            )
        self._check(first)
        files = sorted({name.partition("::")[0] for name in first.results})
        runs = [self._run(self._sound_files, files) for _ in range(RUNS)]
        always = first.passed.intersection(*(run.passed for run in runs))
        ever = first.passed.union(*(run.passed for run in runs))
        tests = tuple(name for name in first.results if name in always)
        if not tests:
            self._check(runs[0])
        flaky = tuple(sorted(ever - always))
        seconds = max(run.seconds for run in (first, *runs))
        stable_files = {test.partition("::")[0] for test in tests}
        collected = tuple(
            test for test in runs[0].results if test.partition("::")[0] in stable_files
        )
        return SoundRun(tests, flaky, collected, seconds)

    def _check(self, run: TestRun) -> None:
        """Refuse a run of the sound repository that says nothing about its faults."""
        total, good = len(run.results), len(run.passed)
        if total and good * 2 >= total:
            return
        summary = f"{good} of {total} pass" if total else "none is found"
        last = "; ".join(line for line in split_lines(run.output.strip())[-3:])
        raise DataError(
            f"expected tests of {self.folder.name} that pass on the sound repository, but "
            f"{summary} (pytest ended with {run.exit_code}: {last[-400:]}); the source "
            "distribution may lack its tests, or they need packages that a box does not have"
        )

    def trial(
        self,
        baseline: SoundRun,
        changed: Files,
        max_failing: int = MOST_FAILING,
        *,
        complete: bool = True,
        parts: Sequence[frozenset[str]] = (),
    ) -> Trial:
        """Determine the effect of a change on the tests.

        Args:
            baseline: The results without it.
            changed: Files by path; None for those that are removed.
            max_failing: Most tests that may fail.
            complete: Whether all tests must be collected; else those that are not have failed.
            parts: Tests that fail with each part of the change alone, where it has several.
        """
        limit = min(self.timeout, max(10.0, 5 * baseline.seconds))
        failing: list[tuple[str, ...]] = []
        symptoms: tuple[Symptom, ...] = ()
        for number in range(RUNS):
            if number:
                self._reset()
            try:
                run = self._run(changed, baseline.files, limit, fresh=number == 0)
            except SandboxDied:  # the fault took it along
                self._reset()
                return Trial("unstable")
            outcome = _judge(run, baseline, max_failing, complete)
            if outcome != "usable":
                return Trial(outcome if not number else "unstable")
            failing.append(tuple(test for test in baseline.tests if test not in run.passed))
            if failing[0] != failing[-1]:
                return Trial("unstable")
            if not number:
                symptoms = self._symptoms(run, baseline, failing[0], parts)
        return Trial("usable", failing[0], symptoms)

    def failing(self, baseline: SoundRun, changed: Files) -> frozenset[str]:
        """Return the tests that fail with a change, in one run; all if the run breaks off.

        Args:
            baseline: The results without it.
            changed: Files by path; None for those that are removed.
        """
        limit = min(self.timeout, max(10.0, 5 * baseline.seconds))
        try:
            run = self._run(changed, baseline.files, limit)
        except SandboxDied:
            self._reset()
            return frozenset(baseline.tests)
        return frozenset(baseline.tests) - (frozenset() if run.timed_out else run.passed)

    # -- parts ----------------------------------------------------------------------------------

    @property
    def _open_box(self) -> Sandbox:
        if self._box is None:
            raise DataError("expected the workbench to be entered (with Workbench(...) as bench)")
        return self._box

    def _reset(self) -> None:
        self._open_box.reset()

    def _run(
        self,
        changed: Files,
        tests: Sequence[str],
        timeout: float | None = None,
        *,
        fresh: bool = True,
    ) -> TestRun:
        """Run tests on the repository with some files changed."""
        if fresh:
            self._reset()
        write_files(self._open_box, changed)
        return run_tests(self._open_box, tests, timeout=timeout or self.timeout)

    def _symptoms(
        self,
        run: TestRun,
        baseline: SoundRun,
        failing: Iterable[str],
        parts: Sequence[frozenset[str]],
    ) -> tuple[Symptom, ...]:
        """Derive a user's symptoms from the failing tests; the box holds the fault."""
        entries: list[tuple[int, str, Reproduction | None, str]] = []
        functions: dict[int, set[str]] = {}
        scripts_per_part = max(1, SCRIPTS // max(1, len(parts)))
        for test in failing:
            file, _, name = test.partition("::")
            suite = self._suite(file)
            if suite is None or test not in run.results:
                continue
            result = run.results[test]
            script = None
            part = _part(test, parts)
            part_functions = functions.setdefault(part, set())
            if (
                len(part_functions) < scripts_per_part
                and name.partition("[")[0] not in part_functions
            ):
                line = suite.failing_line(name, file, result.text)
                index = _place(test, baseline)
                script = None if line is None else suite.reproduce(name, line, index)
                part_functions.add(name.partition("[")[0])
            entries.append((part, suite.docstring(name), script, result.message))
        scripts = [entry[2].runnable for entry in entries if entry[2] is not None]
        outcomes = self._try(scripts)
        expected = self._sound(scripts)
        return tuple(
            Symptom(
                behaviour,
                script.script if script else "",
                script.subject if script else "",
                outcomes.get(script.runnable, ScriptOutcome()) if script else ScriptOutcome(),
                expected.get(script.runnable, ScriptOutcome()) if script else ScriptOutcome(),
                message,
                part,
            )
            for part, behaviour, script, message in entries
        )

    def _suite(self, file: str) -> ParsedTests | None:
        """Read a file of tests; None if it cannot be read."""
        if file not in self._suites:
            shared = str(PurePosixPath(file).parent / "conftest.py")
            try:
                self._suites[file] = ParsedTests(self._text(file) or "", self._text(shared) or "")
            except (OSError, ValueError, SyntaxError):
                self._suites[file] = None
        return self._suites[file]

    def _text(self, path: str) -> str | None:
        """Return a file of the sound repository."""
        content = self._sound_files.get(path)
        if content is None and (self.folder / path).is_file():
            content = (self.folder / path).read_bytes()
        return None if content is None else content.decode("utf-8")

    def _sound(self, scripts: Sequence[str]) -> dict[str, ScriptOutcome]:
        """Run scripts on the sound repository, each once."""
        new = [script for script in scripts if script not in self._outcomes]
        if new:
            self._reset()
            write_files(self._open_box, self._sound_files)
            self._outcomes.update(self._try(new))
        return self._outcomes

    def _try(self, scripts: Sequence[str]) -> dict[str, ScriptOutcome]:
        """Run scripts on the repository in the box."""
        if not scripts:
            return {}
        box = self._open_box
        box.write("/tmp/driver.py", _DRIVER.encode())
        commands = []
        for number, script in enumerate(scripts):
            box.write(f"/tmp/script{number}.py", script.encode())
            commands.append(
                f"timeout 5 python3 /tmp/driver.py /tmp/script{number}.py || printf '\\0\\n'"
            )
        result = box.exec("; ".join(commands), timeout=10.0 * len(scripts))
        lines = [line for line in result.text.split("\n") if "\0" in line]
        if len(lines) != len(scripts):
            return {}
        return {
            script: outcome
            for script, line in zip(scripts, lines, strict=True)
            if (outcome := _read_outcome(line)) is not None
        }


def _read_outcome(line: str) -> ScriptOutcome | None:
    """Parse the driver's outcome of a script."""
    try:
        printed, error = json.loads(line.partition("\0")[2])
    except ValueError:
        return None
    return ScriptOutcome(str(printed).rstrip("\n"), _MODULE.sub("", str(error)))


def _judge(run: TestRun, baseline: SoundRun, limit: int, complete: bool) -> str:
    """Classify a change by a run of the tests."""
    if run.timed_out:
        return "too slow"
    if not run.results or (complete and run.results.keys() != set(baseline.collected)):
        return "not collected"
    count = sum(test not in run.passed for test in baseline.tests)
    return "survived" if not count else "usable" if count <= limit else "too many"


def _part(test: str, parts: Sequence[frozenset[str]]) -> int:
    """Return the part of a change that a test detects; of several the one that fewest detect."""
    numbers = [number for number, failing in enumerate(parts) if test in failing]
    return min(numbers, key=lambda number: len(parts[number]), default=0)


def _place(test: str, baseline: SoundRun) -> int:
    """Return the place of a test among those that come from one function by ``parametrize``."""
    function = test.partition("[")[0]
    alike = [name for name in baseline.collected if name.partition("[")[0] == function]
    return alike.index(test)
