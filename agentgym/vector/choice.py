"""Choosing a back end by name."""

from __future__ import annotations

import os
from collections.abc import Sequence

from agentgym.errors import ConfigurationError
from agentgym.vector.backends import Backend, InProcess, Threads
from agentgym.vector.env_slots import EnvFactory
from agentgym.vector.limits import Limits
from agentgym.vector.process import Processes

BACKENDS = ("inprocess", "thread", "process")
THREADS = 32


def make_backend(
    env_fns: Sequence[EnvFactory], backend: str, workers: int | None, limits: Limits
) -> Backend:
    """Make the back end of that name.

    Raises:
        ConfigurationError: There is no such back end, or ``workers`` is not positive.
    """
    if backend not in BACKENDS:
        raise ConfigurationError(
            f"expected backend to be one of {', '.join(BACKENDS)}; got {backend!r}"
        )
    if workers is not None and workers < 1:
        raise ConfigurationError(f"expected workers of at least 1, got {workers}")
    if backend == "inprocess":
        return InProcess(env_fns)
    default = THREADS if backend == "thread" else _cpus()
    count = min(workers or default, len(env_fns))
    if backend == "thread":
        return Threads(env_fns, count, limits)
    return Processes(env_fns, count, limits)


def _cpus() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
