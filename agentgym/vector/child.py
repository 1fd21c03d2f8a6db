"""The parent's handle of one worker process."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any, NamedTuple

from agentgym.errors import EnvFailure, NotSupported
from agentgym.vector.env_slots import Description, Mistake
from agentgym.vector.limits import Limits, overdue
from agentgym.vector.worker import PIECEWISE, Board, unreadable

START_SECONDS = 120.0


class WorkerLost(Exception):
    """A worker died or was killed; holds the slot it was busy with (None: idle) and the reason."""

    def __init__(self, slot: int | None, reason: str) -> None:
        super().__init__(reason)
        self.slot = slot
        self.reason = reason


class Answer(NamedTuple):
    """What a worker answered."""

    items: list[Any]
    """For each slot that was asked the result."""
    checkpoints: dict[int, bytes]
    """Slot to pickled snapshot, of the state after the result."""


class Child:
    """A worker process: a fresh interpreter at the other end of a pipe.

    Args:
        factories: Pickled mapping from slot to factory.
        limits: Time limits, kept by the child's clock and enforced by :meth:`check`.

    Raises:
        NotSupported: The operating system has no pipes that a child can inherit (Windows).
        EnvFailure: The interpreter did not come up.
    """

    def __init__(self, factories: bytes, limits: Limits) -> None:
        if os.name != "posix":
            raise NotSupported(
                'expected a POSIX system for backend="process"; use backend="thread" here'
            )
        self._limits = limits
        self._owner = os.getpid()
        self._killed = False
        self.connection, theirs = Pipe()
        # Nothing is ever written to it; that this end closes tells the worker that we are gone.
        lifeline, self._lifeline = Pipe(duplex=False)
        with theirs, lifeline, tempfile.TemporaryFile() as file:
            file.truncate(Board.SIZE)
            self._board = Board(file.fileno())
            self._board.rest()
            passed = (theirs.fileno(), file.fileno(), lifeline.fileno())
            self._process = subprocess.Popen(
                _command(*passed), pass_fds=passed, stdin=subprocess.DEVNULL, start_new_session=True
            )
        try:
            self.send((limits, factories))
        except OSError as error:
            self.kill()
            raise EnvFailure(f"expected a worker process to start, but: {error}") from error

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def greet(self) -> Description:
        """Wait until the environments are made.

        Returns:
            Their description.

        Raises:
            EnvFailure: The worker died or was not ready in time.
            Exception: What a constructor raised.
        """
        try:
            ready = self.connection.poll(START_SECONDS)
            greeting = self.receive("call").items[0] if ready else None
        except WorkerLost as lost:
            raise EnvFailure(f"expected a worker process to start, but: {lost}") from lost
        if isinstance(greeting, Description):
            return greeting
        self.kill()
        if isinstance(greeting, Mistake):
            raise greeting.error
        raise EnvFailure(f"expected a worker to make its environments within {START_SECONDS:g} s")

    def send(self, message: Any) -> None:
        """Send one message."""
        self.connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def receive(self, kind: str) -> Answer:
        """Return the answer to the last message, which must be there.

        Args:
            kind: What was asked.

        Raises:
            WorkerLost: There is none, because the worker is dead.
        """
        data = self._read()
        try:
            items, checkpoints = pickle.loads(data)
        except Exception:  # Whatever a member's own class raises when it is read.
            return self._piecewise(kind)
        return Answer(items, checkpoints)

    def _read(self) -> bytes:
        """Read one message."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            raise self.lost() from None

    def _piecewise(self, kind: str) -> Answer:
        """Ask for the last answer again, and read what can be read of it."""
        try:
            self.send(PIECEWISE)
        except OSError:
            raise self.lost() from None
        items = []
        for pickled in pickle.loads(self._read()):
            try:
                items.append(pickle.loads(pickled))
            except Exception as problem:
                items.append(unreadable(kind, problem))
        return Answer(items, {})

    def exchange(self, kind: str, slots: list[int], args: list[Any]) -> Answer:
        """Send one message and wait for the answer, within the time limits.

        Raises:
            WorkerLost: The worker died or passed a limit.
        """
        try:
            self.send((kind, slots, args))
        except OSError:
            raise self.lost() from None
        while not self.connection.poll(self.patience()):
            self.check(kind)
        return self.receive(kind)

    def patience(self) -> float | None:
        """Return how long to wait before it is worth while to :meth:`check`; None: for ever."""
        limits = [limit for limit in (self._limits.step, self._limits.reset) if limit is not None]
        if not limits:
            return None
        return max(0.001, min(self._board.deadline - time.monotonic() + 0.001, *limits, 1.0))

    def check(self, kind: str) -> None:
        """Kill the worker if its environment is overdue.

        Raises:
            WorkerLost: It was.
        """
        if time.monotonic() > self._board.deadline:
            raise self.lost(overdue(kind, self._limits.of(kind)))

    def stop(self) -> None:
        """Ask the worker to close its environments and end."""
        if os.getpid() == self._owner:
            with suppress(OSError):
                self.send(None)

    def close(self, deadline: float) -> None:
        """Wait for a stopped worker; kill it at the monotonic time ``deadline``."""
        if os.getpid() == self._owner:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.01, deadline - time.monotonic()))
        self.kill()

    def kill(self) -> None:
        """Kill the worker and what it started, and collect its exit status; may be called twice."""
        if self._killed or os.getpid() != self._owner:
            return  # Its number may be another's by now; in a fork it is not ours to kill.
        self._killed = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.connection.close()
        self._lifeline.close()

    def abort(self) -> None:
        """Kill the worker without holding an environment to account for it."""
        self.kill()
        self._board.rest()

    def lost(self, reason: str | None = None) -> WorkerLost:
        """Kill what is left and say which environment was running."""
        if reason is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
        code = self._process.poll()
        self.kill()
        return WorkerLost(self._board.slot, reason or f"the worker died (status {code})")


def _command(pipe: int, board: int, lifeline: int) -> list[str]:
    """Return the command line of a worker that finds the same modules as this process."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from agentgym.vector.worker import main; "
        f"main({pipe}, {board}, {lifeline}, {os.getpid()})"
    )
    return [sys.executable, "-c", code]
