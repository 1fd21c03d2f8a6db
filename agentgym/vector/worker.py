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
from multiprocessing.connection import Connection
from typing import Any

from agentgym.vector.limits import Limits
from agentgym.vector.slots import CAUGHT, Mistake, Slots

ORPHAN_SECONDS = 1.0


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


def encode(items: list[Any]) -> bytes:
    """Pickle an answer; an item that cannot be pickled is replaced by what can be said of it."""
    checked = [_portable(item) if isinstance(item, Mistake) else item for item in items]
    try:
        return pickle.dumps(checked, pickle.HIGHEST_PROTOCOL)
    except Exception:
        return pickle.dumps([_portable(item) for item in checked], pickle.HIGHEST_PROTOCOL)


def main(pipe: int, board: int, parent: int) -> None:
    """Serve environments until told to stop or until the parent is gone.

    Args:
        pipe: File descriptor of the pipe to the parent.
        board: File descriptor of the shared page that tells the parent what is going on.
        parent: Process id of the parent.
    """
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

    def mark(slot: int, kind: str) -> None:
        board.begin(slot, time.monotonic() + limits.of(kind))

    try:
        slots = Slots(pickle.loads(factories), mark, origins=True)
    except CAUGHT as error:
        connection.send_bytes(encode([_mistake(error)]))
        return
    connection.send_bytes(encode([slots.description]))
    try:
        while (message := pickle.loads(connection.recv_bytes())) is not None:
            answer = encode(slots.run(*message))
            board.rest()
            connection.send_bytes(answer)
    finally:
        slots.close()


def _follow(parent: int) -> None:
    """End this process group when the parent is gone, even if an environment hangs."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)


def _mistake(error: BaseException) -> Mistake:
    """Wrap what a constructor raised."""
    return Mistake(error if isinstance(error, Exception) else RuntimeError(repr(error)))


def _portable(item: Any) -> Any:
    """Return ``item``, or what can be said about it where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(item))
    except Exception as problem:
        text = f"{item.error!r}" if isinstance(item, Mistake) else f"{type(item).__name__}"
        return Mistake(TypeError(f"{text} (which cannot be sent between processes: {problem})"))
    return item
