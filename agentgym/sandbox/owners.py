"""Identify the process that owns a sandbox, so that others can check whether it is still alive.

A process id alone is not enough: ids are reused, also after a reboot, and each pid namespace has
its own. So an owner consists of the boot id, the pid namespace, the process id, and the start time
of the process.
"""

from __future__ import annotations

import os
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_START = 19
"""Index of the start time in ``/proc/<pid>/stat`` after the name (proc(5): field 22)."""


def this_process() -> str:
    """Return the identity of this process as an owner; a fork has another one."""
    pid = os.getpid()
    return f"{_identify_namespace()}/{pid}/{_started(pid)}"


def is_gone(owner: str) -> bool:
    """Return whether an owner has certainly ended.

    False for owners on other machines, of an earlier boot and in other pid namespaces, which cannot
    be checked here.
    """
    parts = owner.split("/")
    if len(parts) != 4 or "/".join(parts[:2]) != _identify_namespace() or not parts[2].isdigit():
        return False
    return _started(int(parts[2])) != parts[3]


def _identify_namespace() -> str:
    """Return the boot id and the pid namespace."""
    try:
        boot = _BOOT.read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:  # not Linux
        return ""
    return f"{boot}/{namespace}"


def _started(pid: int) -> str:
    """Return the start time of a process in ticks since boot; "" if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The fields follow the name, which is in brackets and may contain spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; its parent has only not read its status.
    return "" if fields[0] in "ZX" else fields[_START]
