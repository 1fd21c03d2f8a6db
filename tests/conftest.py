"""Machines without sandboxes: what needs one is skipped, and told once at the end."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from agentgym.sandbox import SandboxUnavailable
from tests.envs.swe.boxed import NO_BOX


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let continuous integration insist on sandboxes."""
    told = "end at once where no sandbox can be made, instead of skipping the tests that need one"
    parser.addoption("--require-sandbox", action="store_true", help=told)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop before the first test where a sandbox is missing that has to be there."""
    if NO_BOX and session.config.getoption("--require-sandbox"):
        pytest.exit(f"expected a sandbox, got none. {NO_BOX}", returncode=3)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test that asked for a sandbox where none can be made."""
    report = yield
    if NO_BOX and call.excinfo is not None and call.excinfo.errisinstance(SandboxUnavailable):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {NO_BOX}")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once that sandboxes are missing, and why."""
    if NO_BOX:
        terminalreporter.write_line(
            f"No sandbox can be made on this machine: tests that need one were skipped. {NO_BOX}"
        )
