"""Running a repository's tests in a box, and what became of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgym.envs.swe.grading.junit import LARGEST_REPORT, CaseResult, read_junit
from agentgym.errors import DataError
from agentgym.sandbox.base import Sandbox

# As ``python -P`` does from 3.11 on: without the working directory, whose files could take the
# place of pytest's and of the standard library's. PYTHONPATH has it behind pytest. What the import
# made lives to the end; frozen, it is not looked through in every collection, a fifth of the time.
_ISOLATED = (
    "import sys; sys.path[:1] = []; import gc, pytest; gc.freeze(); raise SystemExit(pytest.main())"
)
REPORT = "/tmp/report.xml"
"""Where the report lies in the box."""
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
class TestRun:
    """What came of one run of the tests."""

    __test__ = False  # pytest takes names like this one for tests

    results: Mapping[str, CaseResult]
    """What became of each test; empty if there is no report."""
    exit_code: int
    """How pytest ended."""
    timed_out: bool
    """Whether it took too long."""
    output: str
    """What it printed."""
    seconds: float
    """How long it took."""

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
    timeout: float,
    env: Mapping[str, str] | None = None,
) -> TestRun:
    """Run tests of the repository in a box.

    Args:
        box: A box that holds the repository.
        tests: Files, folders or names of tests; all that pytest finds if empty.
        timeout: Seconds after which it is stopped.
        env: Further variables.

    Returns:
        What came of it. A report that is missing or no report is an empty one.
    """
    words = ("python3", "-c", _ISOLATED, *ARGUMENTS, f"--junitxml={REPORT}", *tests)
    done = box.exec(shlex.join(words), timeout=timeout, env=env)
    results: Mapping[str, CaseResult] = {}
    if not done.timed_out:
        try:
            results = read_junit(box.read(REPORT, LARGEST_REPORT))
        except (OSError, DataError):
            results = {}
    return TestRun(results, done.exit_code, done.timed_out, done.text, done.seconds)
