"""A memory limit for all processes of a sandbox together, where this process may set one."""

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
    """A control group of its own; :meth:`make` returns one.

    Args:
        folder: The group's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, limit: int) -> MemoryGroup | None:
        """Return a group whose processes hold at most so many bytes; None where none can be had."""
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
            # Of version 1 this bounds memory and swap together, of version 2 swap alone.
            with suppress(OSError):  # a kernel without swap accounting has none to limit
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
        """Return how many processes the kernel has killed because memory ran out."""
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
            except OSError:  # the last process is still being taken down
                time.sleep(0.02)
            else:
                return


def _name() -> str:
    """Return how the names of this process's groups begin."""
    return PREFIX + this_process().replace("/", ":")


@cache
def _parent() -> Path | None:
    """Return the folder in which groups can be made, swept of those whose owner is gone."""
    for folder in _candidates():
        try:
            probe = folder / f"{_name()}-probe"
            # Only making one tells whether this process may, and what its limits would be called.
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
    """Return the folders of this process's groups, of version 1 and 2, and of those above."""
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
            # Of version 2, a group that holds processes can have no children with limits.
            folders += [folder, folder.parent] if inside else [folder]
    return folders


def _sweep(folder: Path) -> None:
    """Remove the groups whose owner has ended without doing so."""
    for path in folder.glob(PREFIX + "*"):
        owner = path.name.removeprefix(PREFIX).rpartition("-")[0]
        if is_gone(owner.replace(":", "/")):
            with suppress(OSError):
                path.rmdir()
