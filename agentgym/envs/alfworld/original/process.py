"""The original engine in a worker process: where one is not enough, or must be stoppable.

The worker is a fresh interpreter, started by name: nothing is forked, and the program's own main
module is not imported again. It answers one message with one message, and ends when it is closed,
when its parent is gone, or when it takes too long.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.original.engine import EngineReply, LocalEngine
from agentgym.errors import AgentGymError, ConfigurationError, EnvFailure, NotSupported

LIMIT_SECONDS = 120.0
"""Longest time that one start or command may take; a slow kitchen needs 5 s to start."""
ORPHAN_SECONDS = 1.0


class WorkerEngine:
    """The original engine in a separate process, which starts with the first game.

    A worker that dies or takes too long fails the game that it plays; the next ``start`` begins
    with a new worker.

    Args:
        limit: Longest time in seconds that one start or command may take.

    Raises:
        ConfigurationError: The limit is not above zero.
        NotSupported: The operating system has no pipes that a child can inherit (Windows).
    """

    def __init__(self, limit: float = LIMIT_SECONDS) -> None:
        if os.name != "posix":
            raise NotSupported("expected a POSIX system for a second ALFWorld engine; use one")
        if not limit > 0:
            raise ConfigurationError(f"expected a time limit above 0 s, got {limit!r}")
        self._limit = limit
        self._worker: _Worker | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id of the worker, or None where there is none."""
        return None if self._worker is None else self._worker.pid

    def start(self, game: Game) -> EngineReply:
        """Begin a game, from its start if it is the one being played.

        Raises:
            DataError: The engine cannot load it.
            EnvFailure: The worker died, took too long, or is closed.
        """
        if self._closed:
            raise EnvFailure("expected an open session, but it is closed; open another one")
        if self._worker is None:
            self._worker = _Worker()
        reply: EngineReply = self._call("start", game)
        return reply

    def step(self, command: str) -> EngineReply:
        """Carry out one line.

        Raises:
            EnvFailure: The engine failed, the worker died or took too long, or no game has begun.
        """
        reply: EngineReply = self._call("step", command)
        return reply

    def facts(self) -> str:
        """Return the sorted facts of the present state, one a line."""
        text: str = self._call("facts")
        return text

    def close(self) -> None:
        """End the worker; may be called twice."""
        self._closed = True
        self._drop()

    def _call(self, method: str, *args: Any) -> Any:
        """Have the worker do something, within the time limit."""
        if self._worker is None:
            raise EnvFailure("expected a running game, but none has begun or it failed; start one")
        try:
            result = self._worker.ask((method, args), self._limit)
        except BaseException:
            # Also where the user interrupts: question and answer would no longer match.
            self._drop()
            raise
        if isinstance(result, Exception):
            raise result
        return result

    def _drop(self) -> None:
        """Kill the worker, if there is one."""
        if self._worker is not None:
            self._worker.kill()
        self._worker = None


class _Worker:
    """The parent's handle of a worker process."""

    def __init__(self) -> None:
        self._connection, worker_end = Pipe()
        try:
            with worker_end:
                self._process = subprocess.Popen(
                    _command(worker_end.fileno()),
                    pass_fds=(worker_end.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except BaseException:
            self._connection.close()
            raise
        self.pid = self._process.pid
        # Runs on close, when the worker is garbage collected, and when this process ends.
        self.kill = weakref.finalize(self, _kill, self._process, self._connection, os.getpid())

    def ask(self, question: Any, limit: float) -> Any:
        """Send a question and wait for the answer.

        Raises:
            EnvFailure: There was none in time.
        """
        try:
            self._connection.send(question)
            if self._connection.poll(limit):
                return self._connection.recv()
        except (OSError, EOFError, pickle.UnpicklingError):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            raise EnvFailure(
                "expected an answer of ALFWorld's engine, but its worker process died (status "
                f"{self._process.poll()}); start the game again"
            ) from None
        raise EnvFailure(
            f"expected an answer of ALFWorld's engine within {limit:g} s, but there was none, and "
            "its worker process was killed; start the game again, or set a higher limit"
        )


def _kill(process: subprocess.Popen[bytes], connection: Connection, owner: int) -> None:
    """Kill a worker and collect its exit status; in a fork of its parent, do neither."""
    connection.close()
    if os.getpid() == owner:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _command(pipe: int) -> list[str]:
    """Return the command line of a worker that finds the same modules as this process."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from agentgym.envs.alfworld.original.process import main; main({pipe}, {os.getpid()})"
    )
    return [sys.executable, "-c", code]


# -- in the worker ------------------------------------------------------------------------------


def main(pipe: int, parent: int) -> None:
    """Answer questions until the pipe's other end is closed, or the parent process is gone."""
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    with Connection(pipe) as connection, suppress(EOFError, OSError):
        engine: LocalEngine | None = None
        while True:
            method, args = connection.recv()
            try:
                if engine is None:
                    engine = LocalEngine()
                answer = getattr(engine, method)(*args)
            except AgentGymError as error:
                answer = error.with_traceback(None)
            connection.send(answer)


def _follow(parent: int) -> None:
    """End this process group when the parent is gone, even in the middle of a command."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os.killpg(0, signal.SIGKILL)
