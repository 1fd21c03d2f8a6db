"""Worker processes as forks of a Python that has imported what workers import.

A worker of the process back end, or of the original engine of ALFWorld, is a fresh interpreter: a
quarter of a CPU second, or a whole one, in hundreds of tests that are about what it does. Here it
begins as a fork of a process that has imported the modules and has never made an environment. It
is a child of the process that asked, with the descriptors, environment and folder that a new
interpreter would have. That a new one finds its modules, tests of programs that start workers see.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentgym.envs.alfworld.original import process as engines

ROOT = Path(__file__).parent.parent
AHEAD = (
    "agentgym.envs.alfworld.env", "agentgym.envs.search.env", "agentgym.envs.swe.env",
    "agentgym.envs.textworld.env", "agentgym.envs.webshop.env", "agentgym.vector.worker",
    "gymnasium", "numpy.random",
)  # fmt: skip
ENGINE_AHEAD = ("alfworld.agents.environment.alfred_tw_env", "textworld.envs.pddl")
MOST = 1 << 17
"""Bytes of a request."""
DONE = b"done"
SET_CHILD_SUBREAPER = 36


class WarmProcess(subprocess.Popen[bytes]):
    """A process that begins as a fork; takes what the starters of workers give."""

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:  # type: ignore[override]
        _, _, _, passed, *rest = given
        program = args[-1]
        assert list(args[:-1]) == [sys.executable, "-c"]
        try:
            self.pid = _fork(program, [*passed])
            self._child_created = True
        finally:
            self._close_pipe_fds(*rest[5:11])  # type: ignore[attr-defined]


WARM: Any = SimpleNamespace(**{**vars(subprocess), "Popen": WarmProcess})
"""In place of the module that a starter of workers imported."""


def _fork(program: str, passed: list[int]) -> int:
    """Have a program run in a fork that is a child of this process; returns its number."""
    asked = {
        "program": program, "passed": passed, "environment": dict(os.environ),
        "folder": os.getcwd(), "parent": os.getpid(),
    }  # fmt: skip
    link = _server(os.getpid())
    # An orphan goes to the nearest process above it that takes orphans.
    _take_orphans(True)
    try:
        socket.send_fds(link, [json.dumps(asked).encode()], passed)
        number = int(link.recv(64))
        assert link.recv(64) == DONE  # before, it has another parent
        return number
    finally:
        _take_orphans(False)


def _take_orphans(wanted: bool) -> None:
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


@cache
def _server(owner: int) -> socket.socket:
    """Start the process that forks for this one, with which it ends."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        program = f"from tests.warm_workers import serve; serve({theirs.fileno()})"
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    assert ours.recv(64) == DONE
    return ours


def start_server() -> None:
    """Start the server of this process, unless it runs."""
    _server(os.getpid())


def serve(link_number: int) -> None:
    """Fork at every request; a fork returns from here when its program has ended."""
    for name in AHEAD:
        importlib.import_module(name)
    gc.freeze()
    with socket.socket(fileno=link_number) as link:
        link.send(DONE)
        while True:
            text, files = _received(link)
            if not text:
                return
            asked = json.loads(text)
            if engines.__name__ in asked["program"]:
                _import_engine()
            between = os.fork()
            if not between:
                worker = os.fork()
                if not worker:
                    break
                link.send(str(worker).encode())
                os._exit(0)
            for file in files:
                os.close(file)
            os.waitpid(between, 0)
            link.send(DONE)
    _become(asked, files)
    exec(compile(asked["program"], "<program>", "exec"), {"__name__": "__main__"})


def _received(link: socket.socket) -> tuple[bytes, list[int]]:
    """Receive a request, and the descriptors that come with it."""
    files = array.array("i")
    text, told, _, _ = link.recvmsg(MOST, socket.CMSG_SPACE(16 * files.itemsize))
    for _, _, data in told:
        files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return text, list(files)


@cache
def _import_engine() -> None:
    from agentgym.envs.alfworld.original.package import import_alfworld

    import_alfworld()
    for name in ENGINE_AHEAD:
        importlib.import_module(name)
    gc.freeze()


def _become(asked: dict[str, Any], files: Sequence[int]) -> None:
    """Take over what a new process gets from the one that starts it."""
    while os.getppid() != asked["parent"]:
        time.sleep(0.0005)
    os.setsid()
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    # First out of the way of the numbers that they shall have.
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 1000) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(moved, asked["passed"], strict=True):
        os.dup2(file, number)
        os.close(file)
