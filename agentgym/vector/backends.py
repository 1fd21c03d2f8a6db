"""The back ends of vector environments, and the default back end of an environment."""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium

from agentgym.core.guard import words
from agentgym.core.options import choice
from agentgym.errors import ConfigurationError
from agentgym.registration import families
from agentgym.registration.imports import IMPORTS, split
from agentgym.vector.env_slots import Description, EnvFactory, Slots, SlotState
from agentgym.vector.process import Processes
from agentgym.vector.ray_actors import Actors, connected
from agentgym.vector.requests import (
    CLOSE_SECONDS,
    ArgT,
    ResultT,
    SlotFailure,
    SlotRequest,
    TimeLimits,
)

Received = tuple[int, Any]
"""A slot and the result of its request."""

BACKENDS = ("sync", "thread", "process", "ray")
THREADS = 32
"""Default number of threads: they mostly wait, so there can be more threads than CPUs."""
THREAD_NAME = "agentgym-slots"
"""Name of the threads of the thread back end."""


class Backend(Protocol):
    """Run environments in slots ``0 .. n-1``."""

    description: Description
    """Spaces and metadata of the members."""
    lost_slots: set[int]
    """Slots whose random stream was lost with their environment; their next reset needs a seed."""
    restarts: int
    """Number of replaced workers."""
    concurrent: bool
    """Whether environments run while the caller continues."""

    def send(self, request: SlotRequest[Any, Any]) -> None:
        """Send a request to slots without a pending one.

        Returns immediately, unless environments run in the calling thread. Failures of an
        environment or its worker are never raised: they are results.
        """
        ...

    def receive(self, timeout: float | None = None, wait_for_all: bool = False) -> list[Received]:
        """Return the available results of all requests, and enforce the time limits.

        Args:
            timeout: Seconds to wait for the first result; None waits until there is one.
            wait_for_all: Wait until no request is pending.

        Returns:
            For each slot that has answered, its number and its result, which may be a
            :class:`SlotFailure` or a :class:`Mistake`; empty after the timeout, or if no request is
            pending.
        """
        ...

    def abandon(self) -> None:
        """Abandon all pending requests; the slots can be used again."""
        ...

    def close(self) -> None:
        """Release everything; may be called twice."""
        ...


def run(backend: Backend, request: SlotRequest[ArgT, ResultT]) -> list[ResultT]:
    """Run a request while no other is pending; return the result of each slot."""
    try:
        backend.send(request)
        results = dict(backend.receive(wait_for_all=True))
    except BaseException:
        # Interrupted (Ctrl-C): a late answer must not be taken for the next request's answer.
        backend.abandon()
        raise
    return [results[slot] for slot in request.slots]


def make_backend(
    env_fns: Sequence[EnvFactory], backend: str, workers: int | None, limits: TimeLimits
) -> Backend:
    """Make the back end of that name.

    Raises:
        ConfigurationError: The back end does not exist, or ``workers`` is not positive.
    """
    choice(backend, "backend", BACKENDS)
    if workers is not None and workers < 1:
        raise ConfigurationError(f"expected workers of at least 1, got {workers}")
    if backend == "sync":
        return Sync(env_fns)
    if backend == "ray":
        return Actors(env_fns, workers, limits)
    count = min(workers or usual_workers(backend), len(env_fns))
    if backend == "thread":
        return Threads(env_fns, count, limits)
    return Processes(env_fns, count, limits)


def usual_workers(backend: str) -> int:
    """Return the default number of environments that a back end runs concurrently."""
    return {"sync": 1, "thread": THREADS}.get(backend) or cpus()


def preferred_backend(env_id: str, kwargs: Mapping[str, Any]) -> str:
    """Return the default back end of a registered environment with these arguments.

    Other environments run in the calling thread, unless an imported one declares a back end.
    """
    entry = next((entry for entry in families() if entry.id == env_id), None)
    if entry is None:
        imported = split(env_id)
        return IMPORTS[imported[0]].backend if imported else "sync"
    defaults = gymnasium.spec(env_id).kwargs
    backend = entry.backend_for({**defaults, **kwargs})
    return backend if backend != "process" or os.name == "posix" else "thread"


def backend_session(backend: str) -> AbstractContextManager[None]:
    """Return a block within which successive vector environments share resources of a back end.

    Ray takes seconds to start or connect; the other back ends share nothing.

    Raises:
        DependencyNotInstalled: The back end needs a missing package.
        EnvFailure: The back end cannot be reached.
    """
    return connected() if backend == "ray" else nullcontext()


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Sync:
    """Environments in sequence, in the calling thread: for engines that only use the CPU."""

    concurrent = False

    def __init__(self, factories: Sequence[EnvFactory]) -> None:
        self._slots = Slots(dict(enumerate(factories)))
        self._results: list[Received] = []
        self.description = self._slots.description
        self.lost_slots: set[int] = set()
        self.restarts = 0

    def send(self, request: SlotRequest[Any, Any]) -> None:
        """Run the request."""
        self._results += zip(request.slots, self._slots.run(request), strict=True)

    def receive(self, timeout: float | None = None, wait_for_all: bool = False) -> list[Received]:
        """Return the results since the last call."""
        results, self._results = self._results, []
        return results

    def abandon(self) -> None:
        """Drop the results; no environment is running."""
        self._results = []

    def close(self) -> None:
        """Close the environments."""
        self._slots.close()


@dataclass(slots=True, eq=False)
class _Job:
    """A request for one slot, run by a thread."""

    request: SlotRequest[Any, Any]
    done: queue.SimpleQueue[_Job]
    started: float = float("inf")
    result: Any = None
    thread: threading.Thread | None = None
    abandoned: SlotState | None = None
    """Set if the job was abandoned: the environment that its thread closes when it returns."""
    finished: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held to start, finish or abandon the job, so that it is never both finished and abandoned."""


class Threads:
    """Environments on a pool of threads: for environments that wait (containers, HTTP).

    A thread cannot be killed. If an environment exceeds its time limit, its episode ends, the
    thread is abandoned and replaced, and the next reset of the slot makes a new environment.
    """

    concurrent = True

    def __init__(self, factories: Sequence[EnvFactory], workers: int, limits: TimeLimits) -> None:
        self._slots = Slots(dict(enumerate(factories)))
        self._limits = limits
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._waiting: dict[int, _Job] = {}
        self._threads: list[threading.Thread] = []
        self.description = self._slots.description
        self.lost_slots: set[int] = set()
        self.restarts = 0
        # A single None stops all threads: each puts it back for the next one.
        self._finalizer = weakref.finalize(self, self._jobs.put, None)
        for _ in range(workers):
            self._start()

    def send(self, request: SlotRequest[Any, Any]) -> None:
        """Submit each slot to a thread."""
        for single in request.singles():
            job = self._waiting[single.slots[0]] = _Job(single, self._finished)
            # Registered in _waiting first: a thread may finish the job before put() returns.
            self._jobs.put(job)

    def receive(self, timeout: float | None = None, wait_for_all: bool = False) -> list[Received]:
        """Return the results of finished threads and of overdue environments."""
        until = float("inf") if timeout is None else time.monotonic() + timeout
        results: list[Received] = []
        while self._waiting and (wait_for_all or not results):
            seconds_left = until - time.monotonic()
            try:
                patience = min(self._patience(), seconds_left)
                job = self._finished.get(
                    timeout=None if patience == float("inf") else max(0, patience)
                )
            except queue.Empty:
                results += self._overdue()
                if seconds_left <= 0:
                    break
            else:
                results += self._take(job)
        with suppress(queue.Empty):
            while self._waiting:
                results += self._take(self._finished.get_nowait())
        return results

    def abandon(self) -> None:
        """Abandon all jobs, and drop the results of those that are finished."""
        for job in self._waiting.values():
            self._abandon(job)
        self._waiting.clear()

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

    def _take(self, job: _Job) -> list[Received]:
        """Return a job's result; empty if the job was abandoned before."""
        slot = job.request.slots[0]
        if self._waiting.get(slot) is not job:
            return []
        del self._waiting[slot]
        return [(slot, job.result)]

    def _overdue(self) -> list[Received]:
        """Abandon the jobs that exceeded their time limit; return their failures as results."""
        current_time = time.monotonic()
        results: list[Received] = []
        for slot, job in list(self._waiting.items()):
            operation = job.request.operation
            if current_time - job.started > self._limits.of(operation) and self._abandon(job):
                del self._waiting[slot]
                results.append((slot, SlotFailure(self._limits.overdue(operation))))
        return results

    def _abandon(self, job: _Job) -> bool:
        """Abandon a job unless it is finished, and replace its thread, if it has one.

        Returns:
            Whether it was abandoned.
        """
        slot = job.request.slots[0]
        with job.lock:
            if job.finished:
                return False
            # From now on its thread discards the result when it returns.
            job.abandoned = self._slots.discard(slot)
        self.lost_slots.add(slot)
        if job.thread is not None:
            self.restarts += 1
            self._threads.remove(job.thread)
            self._start()
        return True

    def _patience(self) -> float:
        """Return how long to wait before a job can be overdue; infinite without a limit."""
        if not self._limits.any:
            return float("inf")
        current_time = time.monotonic()
        # One millisecond more, so that the wait does not end just before the limit.
        return max(0.0, min(map(self._deadline, self._waiting.values())) - current_time) + 0.001

    def _deadline(self, job: _Job) -> float:
        """Return when a job becomes overdue; for a job that has not started, the earliest time."""
        limit = self._limits.of(job.request.operation)
        return min(job.started, time.monotonic()) + limit


def _work(slots: Slots, jobs: queue.SimpleQueue[_Job | None]) -> None:
    """Run jobs until a None arrives, or until a job was abandoned while it ran.

    In the second case another thread has already replaced this one.
    """
    while (job := jobs.get()) is not None:
        with job.lock:
            abandoned = job.abandoned
            if abandoned is None:
                job.thread, job.started = threading.current_thread(), time.monotonic()
        if abandoned is not None:
            abandoned.close()
            continue  # abandoned before it started
        try:
            (result,) = slots.run(job.request)
        except BaseException as error:  # nothing may end a thread of the pool
            result = SlotFailure(words(error))
        with job.lock:
            abandoned = job.abandoned
            job.finished, job.result = abandoned is None, result
        if abandoned is not None:
            abandoned.close()
            return
        job.done.put(job)
        # Free the result now: the next get() may block for long with `job` still bound.
        del job
    jobs.put(None)
