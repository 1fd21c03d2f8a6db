"""The number of threads that torch computes with on a CPU.

A small model is fastest with one: threads wait for each other after every operation, and its
operations are short. A larger one takes all physical cores. Hyperthreads of one core share its
arithmetic units, so they count once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from agentgym.vector.backends import cpus
from trainers import processes
from trainers.config.resolve import ResolvedRun

__all__ = [
    "LARGE",
    "computing_threads",
    "physical_cores",
    "run_threads",
    "thread_count",
    "thread_limit",
]

LARGE = 10_000_000
"""Weights from which on a model computes with several threads."""
SYSTEM = Path("/sys")
"""Where Linux describes the machine."""


def run_threads(run: ResolvedRun) -> int:
    """Return the number of threads with which a run trains and plays.

    Raises:
        ConfigurationError: The model cannot be found.
    """
    from trainers.models.memory_plan import config_and_shape

    settings = run.config
    _, shape = config_and_shape(settings.model, settings.tiny, settings.lora.targets)
    return thread_count(settings.threads, shape.parameters)


def thread_count(threads: int | Literal["auto"], weights: int) -> int:
    """Return the number of threads for a model.

    Args:
        threads: A number, or ``auto``: one below ``LARGE`` weights, else what :func:`thread_limit`
            leaves to each process of a run on this machine. With a GPU ``auto`` is torch's own
            number, as the model computes elsewhere.
        weights: Number of weights of the model.
    """
    import torch

    if threads != "auto":
        return threads
    if torch.cuda.is_available():
        return torch.get_num_threads()
    return 1 if weights < LARGE else max(1, thread_limit() // processes.local_world())


def thread_limit() -> int:
    """Return the physical cores of this process, or ``OMP_NUM_THREADS`` if that is lower."""
    cores, variable = physical_cores(), os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(variable)) if variable.isdecimal() and int(variable) else cores


def physical_cores(system: Path = SYSTEM) -> int:
    """Return the physical cores that this process may use: by its affinity, and its container.

    Outside of Linux these are the processors that the operating system counts.

    Args:
        system: Where Linux describes the machine.
    """
    if not hasattr(os, "sched_getaffinity"):
        return cpus()
    cores = {_siblings(system, cpu) for cpu in os.sched_getaffinity(0)}
    return max(1, min(len(cores), _quota(system)))


@contextmanager
def computing_threads(count: int | None) -> Iterator[None]:
    """Let torch compute with so many threads in the calling thread, and restore its number after.

    Args:
        count: Number of threads; None changes nothing.
    """
    import torch

    old_count = torch.get_num_threads()
    if count is None or count == old_count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(old_count)


def _siblings(system: Path, cpu: int) -> str:
    """Return the logical processors of a core, given one of them; only that one if unknown."""
    path = system / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    try:
        return path.read_text().strip() or str(cpu)
    except OSError:
        return str(cpu)


def _quota(system: Path) -> int:
    """Return how many processors a container may keep busy; those of the machine if unlimited."""
    try:
        quota, period = (system / "fs/cgroup/cpu.max").read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):  # "max" means unlimited
        return cpus()
