"""Running a repository's tests in a box, and what became of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.envs.swe.grading.junit import OUTCOMES, CaseResult, read_junit
from agentgym.errors import DataError

if TYPE_CHECKING:  # the judge of exported tasks has no sandboxes, and brings a box of its own
    from agentgym.sandbox.base import Sandbox

ARGUMENTS = (
    "-q",
    "-c/dev/null",
    "--rootdir=.",
    "-pno:cacheprovider",
    "-ojunit_family=xunit1",
    "--continue-on-collection-errors",
    "-Wignore",
    "--tb=short",
)
"""How pytest runs: without the repository's own configuration, to the end whatever fails."""


@dataclass(frozen=True)
class FileRun:
    """What came of one process with the tests of a file."""

    results: Mapping[str, CaseResult]
    """What became of each test; empty if there is no report."""
    exit_code: int
    """How pytest ended."""


@dataclass(frozen=True)
class TestRun:
    """What came of one run of the tests."""

    __test__ = False  # pytest takes names like this one for tests

    parts: tuple[FileRun, ...]
    """Each process, in order; none if the run was broken off."""
    exit_code: int
    """How it ended: as pytest does where all processes ran."""
    timed_out: bool
    """Whether it took too long."""
    output: str
    """What it printed."""
    seconds: float
    """How long it took."""

    @property
    def results(self) -> Mapping[str, CaseResult]:
        """What became of each test; of one that ran in two processes the worse."""
        cases: dict[str, CaseResult] = {}
        for part in self.parts:
            for name, case in part.results.items():
                earlier = cases.get(name)
                if earlier is None or OUTCOMES.index(case.outcome) > OUTCOMES.index(
                    earlier.outcome
                ):
                    cases[name] = case
        return cases

    @property
    def passed(self) -> frozenset[str]:
        """The tests that passed."""
        return frozenset(
            name for name, result in self.results.items() if result.outcome == "passed"
        )


def run_tests(
    box: Sandbox,
    tests: Sequence[str] = (),
    *,
    along: Sequence[str] = (),
    apart: bool = False,
    timeout: float,
    env: Mapping[str, str] | None = None,
) -> TestRun:
    """Run tests of the repository in a box, in processes that one watches which imports no source.

    Args:
        box: A box that holds the repository, and keeps enough of an output for the reports.
        tests: Files, folders or names of tests; all that pytest finds if empty.
        along: Files that run in every process too.
        apart: Whether the tests of each file run in a process of their own, which costs about
            80 ms of processor time for each.
        timeout: Seconds after which everything is stopped.
        env: Further variables.

    Returns:
        What came of it. A report that is missing or no report is an empty one.
    """
    groups = [[*group, *along] for group in (by_file(tests) if apart else [tests])]
    words = ("python3", "-c", _runner(), json.dumps(ARGUMENTS), json.dumps(groups))
    done = box.exec(shlex.join(words), timeout=timeout, env=env)
    parts: tuple[FileRun, ...] = ()
    output = done.text
    if not (done.timed_out or done.flooded or done.truncated or done.exit_code):
        parts, output = _parts(done.text, len(groups))
    code = max((part.exit_code for part in parts), default=done.exit_code or 3)
    return TestRun(parts, code, done.timed_out, output, done.seconds)


def by_file(tests: Sequence[str]) -> list[list[str]]:
    """Return tests by their files, in order; one list for all if some are no tests of a file."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    is_single = not files or not all(name.endswith(".py") for name in files)
    return [list(tests)] if is_single else list(files.values())


@cache
def _runner() -> str:
    """Return the program that runs in the box; as an argument nothing there can change it."""
    return Path(__file__).with_name("runner.py").read_text("utf-8")


def _parts(text: str, count: int) -> tuple[tuple[FileRun, ...], str]:
    """Read what the runner printed: every process, and what all of them printed."""
    try:
        runs = json.loads(text)
        if len(runs) != count:
            raise ValueError(f"{len(runs)} runs where {count} were asked for")
        parts = tuple(FileRun(_results(report), int(code)) for code, report, _ in runs)
        return parts, "".join(str(printed) for _, _, printed in runs)
    except (ValueError, TypeError, RecursionError):
        return (), text


def _results(report: str) -> Mapping[str, CaseResult]:
    try:
        return read_junit(str(report).encode("utf-8", "replace"))
    except DataError:
        return {}
