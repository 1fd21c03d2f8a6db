"""Runs in the box: pytest on one group of tests after another, each in a process of its own.

``python3 -c RUNNER ARGUMENTS GROUPS``: both are JSON, the arguments of every run of pytest, and for
each run the files and ids of tests. The first process imports pytest, and nothing of the
repository. It cannot be looked into, and it alone has the standard output: what the children report
and print reaches it through pipes that they alone share. At the end it prints one line of JSON: how
each run ended, its report, and what it printed.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
from contextlib import suppress

MOST_PRINTED = 1 << 16
"""Bytes of what a run printed that are kept, from the end."""
LOOK = 50
"""Milliseconds between two looks at whether a child has ended whose pipes are still open."""
PR_SET_DUMPABLE = 4


def run(arguments: list[str], tests: list[str]) -> tuple[int, bytes, bytes]:
    """Run pytest in a child; return how it ended, its report, and what it printed."""
    import pytest

    report, report_end = os.pipe()
    printed, out = os.pipe()
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        for number in (1, 2):
            os.dup2(out, number)
        for descriptor in (report, printed, out):
            os.close(descriptor)
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)  # as any process of a user
        code = 3
        try:
            code = int(pytest.main([*arguments, f"--junitxml=/dev/fd/{report_end}", *tests]))
            sys.stdout.flush()
        finally:
            os._exit(code)
    os.close(report_end)
    os.close(out)
    status, outputs = gather(child, report, printed)
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(status), outputs[report], outputs[printed]


def gather(child: int, report: int, printed: int) -> tuple[int, dict[int, bytes]]:
    """Read two pipes until a child ends; return how it ended, its report, what it printed last.

    What it leaves behind may hold the pipes open, and is not waited for.
    """
    outputs = {report: b"", printed: b""}
    poller = select.poll()
    for descriptor in outputs:
        os.set_blocking(descriptor, False)
        poller.register(descriptor, select.POLLIN)
    pid, status, open_status = 0, 0, 2
    while True:
        ready = [descriptor for descriptor, _ in poller.poll(0 if pid or not open_status else LOOK)]
        for descriptor in ready:
            data = os.read(descriptor, 1 << 16)
            outputs[descriptor] += data
            if descriptor == printed:
                outputs[printed] = outputs[printed][-MOST_PRINTED:]
            if not data:
                poller.unregister(descriptor)
                open_status -= 1
        if pid and not ready:
            break
        if not pid:  # without an open pipe it can only be about to end
            pid, status = os.waitpid(child, os.WNOHANG if open_status else 0)
    os.close(report)
    os.close(printed)
    return status, outputs


def default_plugins() -> list[str]:
    """Return the modules that pytest loads in every run."""
    config = importlib.import_module("_pytest.config")
    return ["pytest", *(f"_pytest.{name}" for name in getattr(config, "default_plugins", ()))]


def main(arguments: list[str], groups: list[list[str]]) -> None:
    """Run every group, and print what came of them.

    Args:
        arguments: Of every run of pytest.
        groups: Files and ids of tests of each run.
    """
    # As ``python -P`` does from 3.11 on: without the working directory, whose files could take the
    # place of pytest's and of the standard library's. PYTHONPATH has it behind pytest.
    sys.path[:1] = []
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)
    # What every child would import itself, and what it made lives to the end: frozen, it is not
    # looked through in every collection.
    for name in default_plugins():
        importlib.import_module(name)
    gc.freeze()
    runs = []
    for tests in groups:
        code, report, printed = run(arguments, tests)
        runs.append([code, report.decode("utf-8", "replace"), printed.decode("utf-8", "replace")])
    sys.stdout.write(json.dumps(runs) + "\n")


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
