"""Where a result comes from: the commit of the code, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from agentgym.support.text_lines import split_lines


@cache
def commit() -> str:
    """Return the commit of the suite's source, ending in ``-dirty`` if files were changed since.

    Empty outside of a checkout, and where the suite was installed into somebody else's. A process
    asks once: what it has imported stays as it was.
    """
    source = Path(__file__)
    try:
        if not _git(source, "ls-files", source.name):
            return ""
        return _git(source, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    except (OSError, subprocess.SubprocessError):
        return ""


def machine() -> dict[str, Any]:
    """Return the system, the name of the processor, its cores, and the memory in GiB if known."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory(),
    }


def _git(source: Path, *arguments: str) -> str:
    command = ["git", "-C", str(source.parent), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return process.stdout.strip()


def _processor() -> str:
    try:
        lines = split_lines(Path("/proc/cpuinfo").read_text())
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None
