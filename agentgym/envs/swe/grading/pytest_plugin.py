"""Loaded by pytest in a box: adds a file of canaries, and tells tests and what became of them.

The host appends where its files lie. A box may run an old Python and an old pytest: what stands
here is valid from Python 3.5 and pytest 3 on, once :func:`.plain_source` has taken the types out.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CANARIES = REPORT = COLLECTED = ""


def pytest_configure(config: Any) -> None:
    """Add the canaries, behind whatever the command names."""
    if CANARIES:
        config.args.append(CANARIES)


def pytest_collection_finish(session: Any) -> None:
    """Tell the tests that will be run, in their order."""
    items = getattr(session, "items", None)
    if COLLECTED and items is not None:  # the first of several processes has none
        with open(COLLECTED, "w") as file:
            json.dump([item.nodeid for item in items], file)


def pytest_collectreport(report: Any) -> None:
    """Report a file that cannot be collected."""
    if report.failed:
        _tell(report.nodeid, "ERROR", "")


def pytest_runtest_logreport(report: Any) -> None:
    """Report one phase of a test; the worst of its phases counts."""
    place = ""
    expected = hasattr(report, "wasxfail")
    if report.failed:
        status = "FAILED" if report.when == "call" else "ERROR"
    elif report.skipped:
        status = "XFAIL" if expected else "SKIPPED"
        if not expected and isinstance(report.longrepr, tuple):
            place = str(report.longrepr[0])
    elif report.when != "call":
        return
    else:
        status = "XPASS" if expected else "PASSED"
    _tell(report.nodeid, status, place)


def _tell(name: str, status: str, place: str) -> None:
    """Append a line, in one piece: several processes may run the tests."""
    if REPORT:
        with open(REPORT, "ab", 0) as file:
            file.write((json.dumps([name, status, place]) + "\n").encode())
