"""What a task of Harbor asks of a machine: memory, disk, processors and a network."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from agentgym.errors import DataError

MEMORY, DISK = 2048, 1024
"""Megabytes of memory and of files where a task says nothing."""
MOST_MEGABYTES = 1 << 24
MOST_PROCESSORS = 4096
PUBLIC, NO_NETWORK, ALLOWLIST = "public", "no-network", "allowlist"
_UNITS = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s{0,4}([KMGT])(?:IB?|B)?", re.IGNORECASE)
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_MEGABYTE = 1 << 20


class Resources(NamedTuple):
    """What the box of a task may use."""

    memory: int
    """Bytes of memory."""
    disk: int
    """Bytes that can be written."""
    processors: float
    """Processors that it asks for; 0: it says nothing."""
    named: frozenset[str]
    """Which of ``memory`` and ``disk`` the task names."""


class Network(NamedTuple):
    """What a task may reach; boxes have no network."""

    agent: str
    """Mode while the task is solved: ``public``, ``no-network`` or ``allowlist``."""
    tests: str
    """Mode of its tests."""


@dataclass(frozen=True)
class HostMachine:
    """What the machine that boxes run on has."""

    memory: int
    """Bytes of memory."""
    processors: int
    """Processors that this process may use."""

    def lacks(self, resources: Resources, files_in_memory: bool) -> str:
        """Say what a task asks for and this machine does not have; "" if there is nothing.

        Args:
            resources: What it asks for.
            files_in_memory: Whether files of boxes lie in memory.
        """
        if resources.memory > self.memory:
            return (
                f"it asks for {_format_size(resources.memory)} of memory, and this machine has "
                f"{_format_size(self.memory)}"
            )
        if resources.processors > self.processors:
            return (
                f"it asks for {resources.processors:g} processors, and this machine has "
                f"{self.processors}"
            )
        if files_in_memory and resources.disk > self.memory:
            return (
                f"it asks for {_format_size(resources.disk)} of disk, and files of boxes of "
                f"namespaces lie in memory, of which this machine has {_format_size(self.memory)}: "
                "sandbox=docker writes to disk"
            )
        return ""


def this_machine() -> HostMachine:
    """Return what this machine has, within the limits of its container."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _LIMITS:
        with suppress(OSError, ValueError):  # "max" is no limit
            memory = min(memory, int(Path(path).read_text()))
    get_affinity = getattr(os, "sched_getaffinity", None)
    return HostMachine(memory, len(get_affinity(0)) if get_affinity else os.cpu_count() or 1)


def read_resources(environment: Mapping[str, Any]) -> Resources:
    """Read the sizes of the table ``environment`` of a task.

    Sizes are ``memory_mb = 4096`` or, in older tasks, ``memory = "4G"``; of ``storage`` alike.

    Raises:
        DataError: A size is none, or two contradict each other.
    """
    memory, disk = _megabytes(environment, "memory"), _megabytes(environment, "storage")
    processors = environment.get("cpus")
    if processors is not None:
        check_number("cpus", processors, MOST_PROCESSORS)
    sizes = {"memory": memory, "disk": disk}
    return Resources(
        int((memory or MEMORY) * _MEGABYTE),
        int((disk or DISK) * _MEGABYTE),
        float(processors or 0),
        frozenset(name for name, size in sizes.items() if size is not None),
    )


def read_network(document: Mapping[str, Any]) -> Network:
    """Read the network rules of ``task.toml``.

    They are ``network_mode`` and ``allowed_hosts`` of the environment, which the tables ``agent``
    and ``verifier`` may narrow, or in older tasks ``allow_internet``.

    Raises:
        DataError: A rule is none of Harbor's.
    """
    environment = document.get("environment") or {}
    allowed = environment.get("allow_internet")
    if allowed is not None and not isinstance(allowed, bool):
        raise DataError(f"expected allow_internet to be true or false, got {allowed!r:.60}")
    usual = _mode(environment) or (NO_NETWORK if allowed is False else PUBLIC)
    return Network(
        _mode(document.get("agent") or {}) or usual, _mode(document.get("verifier") or {}) or usual
    )


def check_number(name: str, value: object, limit: float) -> float:
    """Return a number above 0.

    Raises:
        DataError: It is none, or more than ``limit``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= limit:
        raise DataError(f"expected {name} above 0 and up to {limit:g}, got {value!r:.60}")
    return value


def _megabytes(environment: Mapping[str, Any], name: str) -> float | None:
    """Return a size in megabytes; None if it is not named."""
    number, text = environment.get(f"{name}_mb"), environment.get(name)
    sizes = []
    if number is not None:
        sizes.append(check_number(f"{name}_mb", number, MOST_MEGABYTES))
    if text is not None:
        match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None:
            raise DataError(f'expected {name} such as "4G" or "512M", got {text!r:.60}')
        size = float(match[1]) * _UNITS[match[2].upper()]
        sizes.append(check_number(f"{name} in megabytes", size, MOST_MEGABYTES))
    if len({int(size) for size in sizes}) > 1:
        raise DataError(f"expected one size, got {name} = {text!r:.40} and {name}_mb = {number!r}")
    return sizes[0] if sizes else None


def _mode(table: object) -> str:
    """Return the network mode that a table names; "" if it names none."""
    if not isinstance(table, Mapping):
        return ""
    mode, hosts = table.get("network_mode"), table.get("allowed_hosts")
    if mode not in (None, PUBLIC, NO_NETWORK, ALLOWLIST):
        raise DataError(
            f"expected network_mode to be {PUBLIC}, {NO_NETWORK} or {ALLOWLIST}, got {mode!r:.60}"
        )
    return mode or (ALLOWLIST if hosts else "")


def _format_size(size: int) -> str:
    return f"{size / _MEGABYTE:,.0f} MB"
