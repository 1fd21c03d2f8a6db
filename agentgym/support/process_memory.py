"""Memory of this process: current use, peak use, and available memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from agentgym.support.text_lines import split_lines

__all__ = ["available_bytes", "peak_bytes", "resident_bytes"]

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
FILES = {"": ("memory.max", "memory.current"),
         "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}  # fmt: skip
"""Files with the limit and the use of a control group, by its controller: version 2 names none."""


def available_bytes() -> int | None:
    """Return the bytes that this process can still allocate; None if unknown.

    This is the machine's available memory without swap, limited by the control groups in which a
    container or a scheduler runs the process.
    """
    machine = _kibibytes(PROC / "meminfo", "MemAvailable")
    return None if machine is None else max(0, min([machine, *_left_in_groups()]))


def resident_bytes(process: int | None = None) -> int | None:
    """Return the resident memory of this or another process, in bytes; None if unknown."""
    return _kibibytes(PROC / str(process or "self") / "status", "VmRSS")


def peak_bytes() -> int | None:
    """Return the peak resident memory of this process, in bytes; None if unknown."""
    peak = _kibibytes(PROC / "self/status", "VmHWM")  # The other count survives exec on Linux.
    if peak is not None or sys.platform == "win32":
        return peak
    import resource

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size


def _kibibytes(path: Path, name: str) -> int | None:
    """Return the bytes that a line of a file of the kernel states, as in ``VmRSS:  1024 kB``."""
    for line in _lines(path):
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return None


def _left_in_groups() -> Iterator[int]:
    """Yield the remaining bytes of each control group of this process that has a limit."""
    for line in _lines(PROC / "self/cgroup"):
        _, controllers, place = line.split(":", 2)
        controller = "memory" if "memory" in controllers.split(",") else controllers
        if controller not in FILES:
            continue
        root = CGROUPS / controller
        # In a container the path may be that on its host: then the root is its own group.
        group = root / place.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            limit, used = (_number(folder / name) for name in FILES[controller])
            if limit is not None and used is not None:
                yield limit - used + _droppable(folder)


def _droppable(folder: Path) -> int:
    """Return the bytes of files that a control group holds in memory and can drop."""
    for line in _lines(folder / "memory.stat"):
        name, _, size = line.partition(" ")
        if name in ("total_inactive_file", "inactive_file"):
            return int(size)
    return 0


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is none, as in ``max``."""
    text = "".join(_lines(path))
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return split_lines(path.read_text())
    except OSError:
        return []
