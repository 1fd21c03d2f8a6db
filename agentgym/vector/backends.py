"""Where the environments of a vector environment run: the back ends of this process."""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from agentgym.vector.env_slots import Description, EnvFactory, Failure, Seat, Slots
from agentgym.vector.limits import CLOSE_SECONDS, Limits, overdue
from agentgym.vector.members import words

THREAD_NAME = "agentgym-slots"
"""Name of the threads of the thread back end."""


class Backend(Protocol):
    """Runs environments in slots ``0 .. n-1``."""

    description: Description
    """Spaces and metadata of the members."""
    lost: set[int]
    """Slots whose random stream is gone, because their environment had to be given up."""
    restarts: int
    """How many workers have been replaced."""

    def run(self, kind: str, slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Do ``kind`` (``step``, ``reset`` or ``call``) in some slots.

        Returns:
            For each slot the result, a ``Failure`` or a ``Mistake``.
        """
        ...

    def close(self) -> None:
        """Release everything; may be called twice."""
        ...


class InProcess:
    """One environment after the other, in the calling thread: for engines that cost CPU only.

    Args:
        factories: One for each slot.
    """

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
    """One operation on one slot, on its way through a thread."""

    position: int
    kind: str
    slot: int
    arg: Any
    done: queue.SimpleQueue[_Job]
    started: float = float("inf")
    result: Any = None
    thread: threading.Thread | None = None
    orphan: Seat | None = None
    """Set when the operation was given up: what its thread has to close when it comes back."""


class Threads:
    """Environments on a pool of threads: for those that wait (containers, HTTP).

    A thread cannot be killed. When an environment passes its time limit, its episode ends, the
    thread is left to itself and replaced, and the next reset of the slot makes a new environment.

    Args:
        factories: One for each slot.
        workers: Number of threads.
        limits: Time limits.
    """

    def __init__(self, factories: Sequence[EnvFactory], workers: int, limits: Limits) -> None:
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

    def run(self, kind: str, slots: Sequence[int], args: Sequence[Any]) -> list[Any]:
        """Hand the operations to the threads and wait for them, each within its time limit."""
        done: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        jobs = [
            _Job(position, kind, slot, arg, done)
            for position, (slot, arg) in enumerate(zip(slots, args, strict=True))
        ]
        for job in jobs:
            self._jobs.put(job)
        waiting = set(jobs)
        try:
            self._collect(waiting, done, self._limits.of(kind))
        except BaseException:
            # Interrupted: what still runs must not meet the next operation on its slot.
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
                    self._abandon(job, overdue(job.kind, limit))

    def _abandon(self, job: _Job, reason: str) -> None:
        """Give up an operation; its thread, if it has one, is replaced."""
        job.orphan = self._slots.discard(job.slot)
        job.result = Failure(reason)
        self.lost.add(job.slot)
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
            if job.orphan is not None:
                job.orphan.close()
                continue  # Given up before it began.
            result = slots.run(job.kind, [job.slot], [job.arg])[0]
        except BaseException as error:  # This thread is no one else's: nothing may end it.
            result = Failure(words(error))
        if job.orphan is not None:
            job.orphan.close()
            return
        job.result = result
        job.done.put(job)
        del job
    jobs.put(None)


def derive_seed(*parts: int) -> int:
    """Mix non-negative integers into one seed, the same on every machine."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])
