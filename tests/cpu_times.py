"""CPU seconds of every test, its fixtures and the processes that it started.

Wall time says little on a shared machine. ``pytest --cpu-times FILE`` writes a line for each phase
of a test, ``seconds TAB setup|call|teardown TAB test``: a fixture is counted where it is made. What
runs in a box is not counted, as nobody waits for the process that keeps it: a submission that is
graded takes a second or two, several times what its test shows.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.trainers import forks

NAME = "cpu_seconds"
TICKS = os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU seconds of this process so far, of its children that have ended, and of its forks."""
    targets = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    spent = [resource.getrusage(target) for target in targets]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent) + forks.used()


def running() -> float:
    """CPU seconds so far of children that still run, of theirs, and of whom they waited for."""
    ticks, parents = 0, [str(os.getpid())]
    while parents:
        for thread in _texts(Path(f"/proc/{parents.pop()}/task").glob("*/children")):
            parents += thread.split()
            for text in _texts(Path(f"/proc/{child}/stat") for child in thread.split()):
                # The name in parentheses may hold anything; the third field follows it.
                ticks += sum(int(field) for field in text.rpartition(")")[2].split()[11:15])
    return ticks / TICKS


def _texts(files: Iterable[Path]) -> Iterator[str]:
    """Read what the kernel still knows: whoever ends at this moment has left its time behind."""
    for file in files:
        with suppress(OSError):
            yield file.read_text()


class CpuTimes:
    """Measures every phase where it runs, and writes where the reports arrive.

    Args:
        path: The file; None in a worker of xdist, whose reports its controller writes.
    """

    def __init__(self, path: Path | None) -> None:
        self.file = path.open("w") if path else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None]:
        """Measure the fixtures."""
        yield from self.measured(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        """Measure the test."""
        yield from self.measured(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None]:
        """Measure what is closed."""
        yield from self.measured(item)

    def measured(self, item: pytest.Item) -> Generator[None]:
        """Give the report of this phase what was used within it."""
        cpu_before = (
            running() + own_seconds()
        )  # In this order the search for children is not measured.
        try:
            return (yield)
        finally:
            item.user_properties[:] = [(NAME, own_seconds() + running() - cpu_before)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write a line."""
        spent = dict(report.user_properties).get(NAME)
        if self.file and spent is not None:
            print(f"{spent:.3f}", report.when, report.nodeid, sep="\t", file=self.file, flush=True)
