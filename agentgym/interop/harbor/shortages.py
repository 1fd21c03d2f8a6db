"""What commands of an episode ran out of: memory, disk or time."""

from __future__ import annotations

from collections.abc import Iterable

from agentgym.interop.harbor.resources import Resources
from agentgym.sandbox.base import ExecResult

MEMORY_ERRORS = (b"MemoryError", b"Cannot allocate memory", b"std::bad_alloc")
DISK_ERRORS = (b"No space left on device", b"Disk quota exceeded", b"File size limit exceeded")
"""What programs print where there is no more; a text that merely says so makes a note, no more."""


def shortages(result: ExecResult) -> frozenset[str]:
    """Return what a command ran out of, as far as it can be told."""
    signs = {
        "memory": result.exhausted or any(text in result.output for text in MEMORY_ERRORS),
        "disk": any(text in result.output for text in DISK_ERRORS),
        "time": result.timed_out,
    }
    return frozenset(name for name, short in signs.items() if short)


def describe_shortages(short: Iterable[str], resources: Resources, seconds: float) -> str:
    """Say what commands ran out of, and how much there was; "" if it was nothing.

    Args:
        short: What they ran out of.
        resources: What the box may use.
        seconds: What a command may take.
    """
    parts = []
    for name, size in (("memory", resources.memory), ("disk", resources.disk)):
        if name in short:
            whose = "as the task says" if name in resources.named else "as the task says nothing"
            parts.append(f"{name}, of which there were {size >> 20:,} MB, {whose}")
    if "time" in short:
        parts.append(f"time, of which command_timeout gives {seconds:g} s")
    return f"commands ran out of {' and of '.join(parts)}" if parts else ""
