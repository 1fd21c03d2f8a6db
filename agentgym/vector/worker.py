"""The worker process of the process back end.

It is a fresh interpreter, started by name: nothing is forked, so threads and locks of the parent do
no harm, and the parent's ``__main__`` is not imported again, so it needs no guard. It reads one
message, does what it says to its environments one after the other, and answers with one message.
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
from multiprocessing.connection import Connection
from typing import Any

from agentgym.errors import EnvFailure
from agentgym.vector.env_slots import Failure, Mistake, Slots
from agentgym.vector.history import Meter
from agentgym.vector.limits import Limits
from agentgym.vector.members import words

ORPHAN_SECONDS = 1.0
PIECEWISE = "piecewise"
"""Message that asks for the last answer again, each item pickled by itself."""


class Board:
    """A page shared by parent and worker: what the worker is doing, readable when it is dead.

    Args:
        file: Descriptor of a file of :attr:`SIZE` bytes.
    """

    SIZE = 16

    def __init__(self, file: int) -> None:
        view = memoryview(mmap.mmap(file, self.SIZE))
        # Each half is written by one store of 8 bytes, so that it is never read half-written.
        self._slot, self._deadline = view[:8].cast("q"), view[8:].cast("d")

    @property
    def slot(self) -> int | None:
        """Slot whose environment is running, or None."""
        slot = self._slot[0]
        return None if slot < 0 else slot

    @property
    def deadline(self) -> float:
        """Monotonic time at which the running environment is overdue."""
        return self._deadline[0]

    def begin(self, slot: int, deadline: float) -> None:
        """Note that an environment is entered."""
        self._slot[0], self._deadline[0] = slot, deadline

    def rest(self) -> None:
        """Note that no environment runs."""
        self._slot[0], self._deadline[0] = -1, float("inf")


def main(pipe: int, board: int, lifeline: int, parent: int) -> None:
    """Serve environments until told to stop or until the parent is gone.

    Args:
        pipe: File descriptor of the pipe to the parent.
        board: File descriptor of the shared page that tells the parent what is going on.
        lifeline: File descriptor of a pipe whose other end closes when the parent is gone.
        parent: Process id of the parent.
    """
    _die_with(lifeline)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    connection = Connection(pipe)
    try:
        _serve(connection, Board(board))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    finally:
        connection.close()


def _serve(connection: Connection, board: Board) -> None:
    """Make the environments, then answer one message after the other."""
    limits: Limits
    limits, factories = pickle.loads(connection.recv_bytes())
    meter = Meter()

    def mark(slot: int, kind: str) -> None:
        now = time.monotonic()
        meter.begin(slot, kind, now)
        board.begin(slot, now + limits.of(kind))

    try:
        slots = Slots(pickle.loads(factories), mark, origins=True)
    except Exception as error:
        connection.send_bytes(encode("call", [Mistake(error)]))
        return
    connection.send_bytes(encode("call", [slots.description]))
    results: list[Any] = []
    kind = ""
    try:
        while (message := pickle.loads(connection.recv_bytes())) is not None:
            if message == PIECEWISE:
                connection.send_bytes(pickle.dumps([_portable(kind, item) for item in results]))
                continue
            kind, numbers, args = message
            results = slots.run(kind, numbers, args)
            meter.end(time.monotonic())
            answer = encode(kind, results, _checkpoints(slots, meter, numbers))
            board.rest()
            connection.send_bytes(answer)
    finally:
        slots.close()


def _checkpoints(slots: Slots, meter: Meter, numbers: Sequence[int]) -> dict[int, bytes]:
    """Take the checkpoints that are due."""
    taken = {}
    for slot in filter(meter.due, numbers):
        start = time.monotonic()
        checkpoint = slots.checkpoint(slot)
        now = time.monotonic()
        meter.end(now)
        meter.saved(slot, now - start)
        if checkpoint is not None:
            taken[slot] = checkpoint
    return taken


def encode(kind: str, items: list[Any], checkpoints: dict[int, bytes] | None = None) -> bytes:
    """Pickle an answer; an item that cannot be pickled is replaced by what can be said of it."""
    try:
        return pickle.dumps((items, checkpoints or {}), pickle.HIGHEST_PROTOCOL)
    except Exception:
        parts = [pickle.loads(_portable(kind, item)) for item in items]
        return pickle.dumps((parts, checkpoints or {}), pickle.HIGHEST_PROTOCOL)


def _portable(kind: str, item: Any) -> bytes:
    """Pickle one item so that it can be read, at least in this process."""
    try:
        pickled = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        pickle.loads(pickled)
    except Exception as problem:
        return pickle.dumps(unreadable(kind, problem, item), pickle.HIGHEST_PROTOCOL)
    return pickled


def unreadable(kind: str, problem: BaseException, item: Any = None) -> Failure | Mistake:
    """Return what stands for an item that cannot be sent between processes.

    Args:
        kind: What was asked of the environment: a ``call`` has no episode that could end.
        problem: Why it cannot be sent.
        item: The item, where it is known.
    """
    what = f": {words(item.error)}" if isinstance(item, Mistake) else ""
    text = f"its answer to {kind} cannot be sent between processes ({words(problem)}){what}"
    return Mistake(EnvFailure(text)) if kind == "call" else Failure(text)


def _die_with(lifeline: int) -> None:
    """Let the kernel kill this process group when a pipe closes, where it can (Linux).

    Unlike :func:`_follow` that needs no thread of ours, which an environment that never lets go of
    the interpreter would not let run.
    """
    import fcntl  # Not on every system, and needed by workers only.

    if not hasattr(fcntl, "F_SETSIG"):
        return
    with suppress(OSError):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)


def _follow(parent: int) -> None:
    """End this process group when the parent is gone, even if an environment hangs."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)
