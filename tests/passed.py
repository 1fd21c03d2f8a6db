"""Which tests a run has passed, so that another run need not repeat them.

``pytest --passed FILE`` writes the id of every test that passes, a JSON string in a line.
``pytest --without FILE`` leaves those tests out. Continuous integration plays the fast selection as
a newcomer does, and then all tests without those that have just passed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest


def add_options(parser: pytest.Parser) -> None:
    """Add ``--passed`` and ``--without``."""
    parser.addoption("--passed", type=Path, help="write the ids of the tests that pass to a file")
    parser.addoption("--without", type=Path, help="leave out the tests whose ids a file holds")


class PassedTests:
    """Writes the id of each test that has passed: its fixtures, the test, and what it closes.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        self._called: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the id of a test at its end."""
        if report.when == "call" and report.outcome == "passed":
            self._called.add(report.nodeid)
        elif report.when == "teardown" and report.passed and report.nodeid in self._called:
            print(json.dumps(report.nodeid), file=self._file, flush=True)


def divide_passed(
    items: Sequence[pytest.Item], path: Path
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Divide tests into those that are still to be run and those that a file says have passed."""
    passed = {json.loads(line) for line in path.read_text().splitlines()}
    return [item for item in items if item.nodeid not in passed], [
        item for item in items if item.nodeid in passed
    ]
