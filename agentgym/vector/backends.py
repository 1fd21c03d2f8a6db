"""Where the environments of a vector environment run: the back ends, and the choice among them."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium

from agentgym.errors import ConfigurationError
from agentgym.options import choice
from agentgym.registration import FAMILIES
from agentgym.vector.env_slots import Description, EnvFactory, Slots, SlotState
from agentgym.vector.members import words
from agentgym.vector.process import Processes
from agentgym.vector.ray_actors import Actors
from agentgym.vector.requests import (
    CLOSE_SECONDS,
    ArgT,
    Failure,
    Request,
    ResultT,
    TimeLimits,
)

BACKENDS = ("sync", "thread", "process", "ray")
THREADS = 32
THREAD_NAME = "agentgym-slots"
"""Name of the threads of the thread back end."""


class Backend(Protocol):
    """Run environments in slots ``0 .. n-1``."""

    description: Description
    """Spaces and metadata of the members."""
    lost: set[int]
    """Slots whose random stream is gone, because their environment had to be given up."""
    restarts: int
    """How many workers have been replaced."""

    def run(self, request: Request[ArgT, ResultT]) -> list[ResultT]:
        """Do what is asked; return for each slot of the request what became of it."""
        ...

    def close(self) -> None:
        """Release everything; may be called twice."""
        ...


def make_backend(
    env_fns: Sequence[EnvFactory], backend: str, workers: int | None, limits: TimeLimits
) -> Backend:
    """Make the back end of that name.

    Raises:
        ConfigurationError: There is no such back end, or ``workers`` is not positive.
    """
    choice(backend, "backend", BACKENDS)
    if workers is not None and workers < 1:
        raise ConfigurationError(f"expected workers of at least 1, got {workers}")
    if backend == "sync":
        return Sync(env_fns)
    if backend == "ray":
        return Actors(env_fns, workers, limits)
    default = THREADS if backend == "thread" else cpus()
    count = min(workers or default, len(env_fns))
    if backend == "thread":
        return Threads(env_fns, count, limits)
    return Processes(env_fns, count, limits)


def preferred_backend(env_id: str, kwargs: Mapping[str, Any]) -> str:
    """Return the back end that suits a registered environment made with these arguments.

    What is no family of the suite runs in the calling thread.
    """
    entry = next((entry for entry in FAMILIES if entry.id == env_id), None)
    if entry is None:
        return "sync"
    defaults = gymnasium.spec(env_id).kwargs
    backend = entry.backend_for({**defaults, **kwargs})
    return backend if backend != "process" or os.name == "posix" else "thread"


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Sync:
    """One environment after the other, in the calling thread: for engines that cost CPU only."""

    def __init__(self, factories: Sequence[EnvFactory]) -> None:
        self._slots = Slots(dict(enumerate(factories)))
        self.run = self._slots.run
        self.description = self._slots.description
        self.lost: set[int] = set()
        self.restarts = 0

    def close(self) -> None:
        """Close the environments."""
        self._slots.close()


@dataclass(slots=True, eq=False)
class _Job:
    """A request for one slot, on its way through a thread."""

    request: Request[Any, Any]
    done: queue.SimpleQueue[_Job]
    started: float = float("inf")
    result: Any = None
    thread: threading.Thread | None = None
    abandoned: SlotState | None = None
    """Set when the job was given up: what its thread has to close when it comes back."""


class Threads:
    """Environments on a pool of threads: for those that wait (containers, HTTP).

    A thread cannot be killed. When an environment passes its time limit, its episode ends, the
    thread is left to itself and replaced, and the next reset of the slot makes a new environment.
    """

    def __init__(self, factories: Sequence[EnvFactory], workers: int, limits: TimeLimits) -> None:
        self._slots = Slots(dict(enumerate(factories)))
        self._limits = limits
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.description = self._slots.description
        self.lost: set[int] = set()
        self.restarts = 0
        # One None stops all: each thread passes it on.
        self._finalizer = weakref.finalize(self, self._jobs.put, None)
        for _ in range(workers):
            self._start()

    def run(self, request: Request[ArgT, ResultT]) -> list[ResultT]:
        """Hand each slot to a thread and wait for all of them, each within its time limit."""
        done: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        jobs = [_Job(single, done) for single in request.singles()]
        for job in jobs:
            self._jobs.put(job)
        waiting = set(jobs)
        try:
            self._collect(waiting, done, self._limits.of(request.operation))
        except BaseException:
            # Interrupted: what still runs must not meet the next request for its slot.
            for job in waiting:
                self._abandon(job, "interrupted")
            raise
        return [job.result for job in jobs]

    def close(self) -> None:
        """Stop the threads and close the environments."""
        self._finalizer()
        deadline = time.monotonic() + CLOSE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._threads.clear()
        self._slots.close()

    def _start(self) -> None:
        """Add a thread to the pool."""
        # Daemons: a thread that hangs in an environment must not keep the interpreter alive.
        thread = threading.Thread(
            target=_work, args=(self._slots, self._jobs), name=THREAD_NAME, daemon=True
        )
        thread.start()
        self._threads.append(thread)

    def _collect(self, waiting: set[_Job], done: queue.SimpleQueue[_Job], limit: float) -> None:
        """Take jobs out of ``waiting`` as they are done or overdue."""
        while waiting:
            try:
                waiting.discard(done.get(timeout=_patience(waiting, limit)))
            except queue.Empty:
                for job in [j for j in waiting if time.monotonic() - j.started > limit]:
                    waiting.discard(job)
                    self._abandon(job, self._limits.overdue(job.request.operation))

    def _abandon(self, job: _Job, reason: str) -> None:
        """Give up a job; its thread, if it has one, is replaced."""
        slot = job.request.slots[0]
        job.abandoned = self._slots.discard(slot)
        job.result = Failure(reason)
        self.lost.add(slot)
        if job.thread is not None:
            self.restarts += 1
            self._threads.remove(job.thread)
            self._start()


def _patience(waiting: set[_Job], limit: float) -> float | None:
    """Return how long to wait before a job can be overdue; None without a limit."""
    if limit == float("inf"):
        return None
    now = time.monotonic()
    return max(0.001, min(min(job.started, now) + limit for job in waiting) - now + 0.001)


def _work(slots: Slots, jobs: queue.SimpleQueue[_Job | None]) -> None:
    """Run jobs until told to stop, or until the job just done had been given up."""
    while (job := jobs.get()) is not None:
        job.thread = threading.current_thread()
        job.started = time.monotonic()
        try:
            if job.abandoned is not None:
                job.abandoned.close()
                continue  # Given up before it began.
            (result,) = slots.run(job.request)
        except BaseException as error:  # This thread is no one else's: nothing may end it.
            result = Failure(words(error))
        if job.abandoned is not None:
            job.abandoned.close()
            return
        job.result = result
        job.done.put(job)
        # The queue may be empty for long, and the job holds what the environment returned.
        del job
    jobs.put(None)
