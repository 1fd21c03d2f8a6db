"""The worker process of the process back end.

It is a fresh interpreter and not a fork, so threads and locks of the parent do no harm. It does not
import the parent's ``__main__``, so scripts need no ``if __name__ == "__main__"``. It reads one
message, runs the request on its environments one after the other, and answers with one message.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from agentgym.core.guard import words
from agentgym.errors import EnvFailure
from agentgym.vector.env_slots import Slots
from agentgym.vector.history import Checkpoint, Meter
from agentgym.vector.requests import Mistake, SlotFailure, SlotOperation, SlotRequest, TimeLimits

PARENT_CHECK_SECONDS = 1.0
"""Interval at which a worker checks that its parent is alive, in seconds."""


class WorkerSetup(NamedTuple):
    """The first message to a worker."""

    limits: TimeLimits
    """Time limits of its environments."""
    factories: bytes
    """Pickled mapping from slot to factory."""


class Control(Enum):
    """A message to a worker that does not concern its environments."""

    STOP = "stop"
    """Close the environments and end."""
    RESEND = "resend"
    """Send the results of the last request again, each pickled separately."""


class WorkerAnswer(NamedTuple):
    """The answer of a worker to a request."""

    results: list[Any]
    """The result of each slot of the request."""
    checkpoints: dict[int, Checkpoint]
    """Due checkpoints, of the states after the results."""


class SharedStatus:
    """A page shared by parent and worker: the worker's current operation, readable after its death.

    Args:
        file: Descriptor of a file of :attr:`SIZE` bytes.
    """

    SIZE = 16

    def __init__(self, file: int) -> None:
        view = memoryview(mmap.mmap(file, self.SIZE))
        # Each value is written by a single store of 8 bytes, so no reader sees half of it.
        self._slot, self._deadline = view[:8].cast("q"), view[8:].cast("d")

    @property
    def slot(self) -> int | None:
        """Slot whose environment is running, or None."""
        slot = self._slot[0]
        return None if slot < 0 else slot

    @property
    def deadline(self) -> float:
        """Monotonic time at which the running environment becomes overdue."""
        return self._deadline[0]

    def begin(self, slot: int, deadline: float) -> None:
        """Record that an environment runs."""
        self._slot[0], self._deadline[0] = slot, deadline

    def rest(self) -> None:
        """Record that no environment runs."""
        self._slot[0], self._deadline[0] = -1, float("inf")


def main(pipe: int, status: int, lifeline: int, parent: int) -> None:
    """Serve environments until a stop message or the end of the parent.

    Args:
        pipe: File descriptor of the pipe to the parent.
        status: File descriptor of the shared status page.
        lifeline: File descriptor of a pipe that the parent's end closes.
        parent: Process id of the parent.
    """
    _die_with(lifeline)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    connection = Connection(pipe)
    try:
        _serve(connection, SharedStatus(status))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        connection.close()


def _serve(connection: Connection, status: SharedStatus) -> None:
    """Make the environments, then answer one message after the other."""
    setup: WorkerSetup = pickle.loads(connection.recv_bytes())
    meter = Meter()

    def on_enter(slot: int, operation: SlotOperation) -> None:
        current_time = time.monotonic()
        meter.begin(slot, operation, current_time)
        status.begin(slot, current_time + setup.limits.of(operation))

    try:
        slots = Slots(pickle.loads(setup.factories), on_enter, origins=True)
    except Exception as error:
        connection.send_bytes(encode(SlotOperation.CALL, WorkerAnswer([Mistake(error)], {})))
        return
    connection.send_bytes(encode(SlotOperation.CALL, WorkerAnswer([slots.description], {})))
    try:
        _answer(connection, slots, meter, status)
    finally:
        slots.close()


def _answer(connection: Connection, slots: Slots, meter: Meter, status: SharedStatus) -> None:
    """Answer one request after the other, until `Control.STOP` arrives."""
    operation = SlotOperation.CALL
    results: list[Any] = []
    message: SlotRequest[Any, Any] | Control
    while (message := pickle.loads(connection.recv_bytes())) is not Control.STOP:
        if isinstance(message, Control):
            connection.send_bytes(pickle.dumps([_portable(operation, item) for item in results]))
            continue
        operation, results = message.operation, slots.run(message)
        meter.end(time.monotonic())
        answer = WorkerAnswer(results, _checkpoints(slots, meter, message.slots))
        encoded = encode(operation, answer)
        # Before sending: the parent may kill a worker that is overdue, but not after its answer.
        status.rest()
        connection.send_bytes(encoded)


def _checkpoints(slots: Slots, meter: Meter, numbers: Sequence[int]) -> dict[int, Checkpoint]:
    """Take the checkpoints that are due."""
    checkpoints = {}
    for slot in filter(meter.due, numbers):
        start = time.monotonic()
        checkpoint = slots.checkpoint(slot)
        current_time = time.monotonic()
        meter.end(current_time)
        meter.saved(slot, current_time - start)
        if checkpoint is not None:
            checkpoints[slot] = checkpoint
    return checkpoints


def encode(operation: SlotOperation, answer: WorkerAnswer) -> bytes:
    """Pickle an answer; a result that cannot be pickled is replaced by a description."""
    try:
        return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
    except Exception:
        # Pickle each result separately: a bad one must not cost the results of other slots.
        results = [pickle.loads(_portable(operation, item)) for item in answer.results]
        return pickle.dumps(answer._replace(results=results), pickle.HIGHEST_PROTOCOL)


def _portable(operation: SlotOperation, item: object) -> bytes:
    """Pickle one result, after checking that it can be unpickled, at least in this process."""
    try:
        pickled = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        pickle.loads(pickled)
    except Exception as problem:
        return pickle.dumps(unreadable(operation, problem, item), pickle.HIGHEST_PROTOCOL)
    return pickled


def unreadable(
    operation: SlotOperation, problem: BaseException, item: object = None
) -> SlotFailure | Mistake:
    """Return a replacement for a result that cannot be sent between processes.

    For a call it is a mistake to raise, since a call cannot end an episode.
    """
    reason = f": {words(item.error)}" if isinstance(item, Mistake) else ""
    text = (
        f"its answer to {operation.value} cannot be sent between processes ({words(problem)})"
        f"{reason}"
    )
    return Mistake(EnvFailure(text)) if operation is SlotOperation.CALL else SlotFailure(text)


def _die_with(lifeline: int) -> None:
    """Let the kernel kill this process group when a pipe closes (Linux only).

    Unlike :func:`_watch`, this needs no Python thread, so it also works while an environment's C
    code holds the interpreter's lock.
    """
    import fcntl  # does not exist on Windows, where there are no workers

    if not hasattr(fcntl, "F_SETSIG"):
        return
    with suppress(OSError):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)


def _watch(parent: int) -> None:
    """End this process group when the parent is gone, even if an environment hangs."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_SECONDS)
    os.killpg(0, signal.SIGKILL)
