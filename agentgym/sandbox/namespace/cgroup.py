"""A memory limit for all processes of a sandbox together, if this process may create cgroups."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from agentgym.sandbox.owners import is_gone, this_process
from agentgym.support.text_lines import split_lines

PREFIX = "agentgym-"

_numbers = itertools.count()


class MemoryGroup:
    """A control group of one sandbox; :meth:`make` creates one.

    Args:
        folder: The group's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, limit: int) -> MemoryGroup | None:
        """Create a group with a memory limit in bytes; return None if that is not possible."""
        parent = _parent()
        if parent is None:
            return None
        folder = parent / f"{_name()}-{next(_numbers)}"
        try:
            folder.mkdir()
            if (folder / "memory.limit_in_bytes").exists():
                (folder / "memory.limit_in_bytes").write_text(str(limit))
                swap = folder / "memory.memsw.limit_in_bytes"
            else:
                (folder / "memory.max").write_text(str(limit))
                swap = folder / "memory.swap.max"
            # In cgroup version 1 this limits memory and swap together, in version 2 only swap.
            with suppress(OSError):  # the kernel has no swap accounting
                swap.write_text(str(limit) if "memsw" in swap.name else "0")
        except OSError:
            with suppress(OSError):
                folder.rmdir()
            return None
        return cls(folder)

    def open(self) -> int:
        """Return a descriptor; a process that writes ``0`` to it joins."""
        return os.open(self.folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def kills(self) -> int:
        """Return the number of processes killed by the kernel for lack of memory."""
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError, ValueError):
                lines = split_lines((self.folder / name).read_text())
                return int(dict(line.split() for line in lines)["oom_kill"])
        return 0

    def remove(self) -> None:
        """Remove the group, whose processes have ended."""
        for _ in range(50):
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # the kernel has not finished removing the last process
                time.sleep(0.02)
            else:
                return


def _name() -> str:
    """Return the prefix of the names of this process's groups."""
    return PREFIX + this_process().replace("/", ":")


@cache
def _parent() -> Path | None:
    """Return the folder in which groups can be created; removes groups of dead owners there."""
    for folder in _candidates():
        try:
            probe = folder / f"{_name()}-probe"
            # Only creating a group shows whether this is allowed, and how its limits are named.
            probe.mkdir()
        except OSError:
            continue
        names = {path.name for path in probe.iterdir()}
        probe.rmdir()
        if names & {"memory.limit_in_bytes", "memory.max"}:
            _sweep(folder)
            return folder
    return None


def _candidates() -> list[Path]:
    """Return the folders of this process's groups (versions 1 and 2) and of their parents."""
    folders = []
    try:
        lines = split_lines(Path("/proc/self/cgroup").read_text())
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = path.lstrip("/")
        if "memory" in controllers.split(","):
            folders.append(Path("/sys/fs/cgroup/memory") / inside)
        elif not controllers:
            folder = Path("/sys/fs/cgroup") / inside
            # In version 2, a group with processes cannot have children with limits: use its parent.
            folders += [folder, folder.parent] if inside else [folder]
    return folders


def _sweep(folder: Path) -> None:
    """Remove the groups that dead owners left behind."""
    for path in folder.glob(PREFIX + "*"):
        owner = path.name.removeprefix(PREFIX).rpartition("-")[0]
        if is_gone(owner.replace(":", "/")):
            with suppress(OSError):
                path.rmdir()
