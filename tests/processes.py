"""Whether a process still runs.

A zombie does not: it waits for its parent, which process 1 of a container may never be to orphans.
"""

from __future__ import annotations

import psutil


def alive(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
