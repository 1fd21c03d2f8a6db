"""Names of processes that no later process bears: number and time of start."""

from __future__ import annotations

import os
from pathlib import Path


def mine() -> str:
    """Return the name of this process."""
    return f"{os.getpid()}-{_started(os.getpid())}"


def alive(name: str) -> bool:
    """Return whether the process of a name still runs; one of an unknown form counts as running."""
    pid, _, started = name.partition("-")
    if not pid.isdigit():
        return True
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """Return the time of a process's start, in ticks since the machine's; empty if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
