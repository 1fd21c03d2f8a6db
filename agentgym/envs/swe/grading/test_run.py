"""Run a repository's tests in a box and read the results."""

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

if TYPE_CHECKING:  # the judge of exported tasks contains this module, but no sandboxes
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
"""Arguments of pytest: ignore the repository's configuration, and run all tests to the end."""


@dataclass(frozen=True)
class FileRun:
    """The result of one pytest process."""

    results: Mapping[str, CaseResult]
    """Result of each test, by id; empty without a valid report."""
    exit_code: int
    """Exit code of pytest."""


@dataclass(frozen=True)
class TestRun:
    """The result of a run of tests, in one or several processes."""

    __test__ = False  # pytest would collect the class because of its name

    parts: tuple[FileRun, ...]
    """Result of each process, in order; empty if the run broke off."""
    exit_code: int
    """Largest exit code of the processes; if the run broke off, the command's, or 3 for 0."""
    timed_out: bool
    """Whether it was killed at the time limit."""
    output: str
    """Output of all processes."""
    seconds: float
    """Duration in seconds."""

    @property
    def results(self) -> Mapping[str, CaseResult]:
        """Result of each test, by id; the worse one of a test that ran in several processes."""
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
        """Ids of the tests that passed."""
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
    """Run tests of the repository in a box.

    The pytest processes are children of `agentgym.envs.swe.grading.runner`, which never imports
    source under test and alone reports the results.

    Args:
        box: A box with the repository, whose output limit is large enough for the reports.
        tests: Files, folders or ids of tests; empty: all that pytest finds.
        along: Files or ids of tests to run additionally in every process.
        apart: Whether the tests of each file run in their own process, which takes about 80 ms of
            CPU time per file.
        timeout: Time limit of the whole run, in seconds.
        env: Additional environment variables.

    Returns:
        The result. A process with a missing or invalid report has no results.
    """
    groups = [[*group, *along] for group in (by_file(tests) if apart else [tests])]
    words = ("python3", "-c", _runner(), json.dumps(ARGUMENTS), json.dumps(groups))
    result = box.exec(shlex.join(words), timeout=timeout, env=env)
    parts: tuple[FileRun, ...] = ()
    output = result.text
    if not (result.timed_out or result.flooded or result.truncated or result.exit_code):
        parts, output = _parts(result.text, len(groups))
    code = max((part.exit_code for part in parts), default=result.exit_code or 3)
    return TestRun(parts, code, result.timed_out, output, result.seconds)


def by_file(tests: Sequence[str]) -> list[list[str]]:
    """Group tests by file, in order; a single group if some are folders or there are none."""
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    is_single = not files or not all(name.endswith(".py") for name in files)
    return [list(tests)] if is_single else list(files.values())


@cache
def _runner() -> str:
    """Return the runner's source; passed as an argument, so nothing in the box can change it."""
    return Path(__file__).with_name("runner.py").read_text("utf-8")


def _parts(text: str, count: int) -> tuple[tuple[FileRun, ...], str]:
    """Parse the output of the runner; return the result of every process and their joint output."""
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
