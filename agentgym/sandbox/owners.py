"""Who made a sandbox, written so that another process can tell whether they are still alive.

A process id alone does not name a process: ids are used again, after a restart of the machine and
within it, and each pid namespace counts its own. So an owner is the boot of the machine, the pid
namespace, the id, and the time at which the process started.
"""

from __future__ import annotations

import os
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_START = 19
"""Place of the start time in ``/proc/<pid>/stat`` after the name (proc(5): field 22)."""


def this_process() -> str:
    """Return the owner that the running process is; another one after a fork."""
    pid = os.getpid()
    return f"{_identify_namespace()}/{pid}/{_started(pid)}"


def is_gone(owner: str) -> bool:
    """Return whether an owner has ended for certain.

    Of owners on other machines, of an earlier boot and in other pid namespaces nothing is known
    here, so they are not.
    """
    parts = owner.split("/")
    if len(parts) != 4 or "/".join(parts[:2]) != _identify_namespace() or not parts[2].isdigit():
        return False
    return _started(int(parts[2])) != parts[3]


def _identify_namespace() -> str:
    """Name the boot of this machine and the namespace in which ids are counted."""
    try:
        boot = _BOOT.read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:  # not Linux
        return ""
    return f"{boot}/{namespace}"


def _started(pid: int) -> str:
    """Return when a process started, in ticks since boot; "" if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The name stands in brackets before them, and may hold spaces and brackets of its own.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; nobody has asked yet how.
    return "" if fields[0] in "ZX" else fields[_START]
