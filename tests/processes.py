"""Whether a process still runs, and how one that was forked ends.

A zombie does not run: it waits for its parent, which process 1 of a container may never be to
orphans.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import sys
import threading
from collections.abc import Callable, Sequence

import psutil


def alive(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def renumber(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    """Give open descriptors other numbers; those that they have now are closed.

    One may already have the number of another, as where a standard stream is closed.

    Args:
        descriptors: Their numbers now.
        numbers: Those that they get, in the same order.
    """
    # Above all of them: a number that is to be given must not be taken in between.
    above = max([*descriptors, *numbers], default=0) + 1
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, above) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for descriptor, number in zip(moved, numbers, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)


def run_to_its_end(program: Callable[[], object]) -> None:
    """Run a program and end this process as an interpreter does, but for freeing its modules.

    To free what was imported before a fork is to copy it: half of the CPU seconds of a short
    command. An error of the program is raised, and so is an exit with words.
    """
    code: object = None
    try:
        program()
    except SystemExit as end:
        code = end.code
        if not isinstance(code, int | None):
            raise
    threading._shutdown()  # type: ignore[attr-defined]  # Wait for threads.
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # What cannot be written is told by the interpreter.
    os._exit(code or 0)
