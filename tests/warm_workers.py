"""Worker processes as forks of a Python that has imported what workers import.

A worker of the process back end, or of an original engine, is a fresh interpreter: a quarter of a
CPU second, or a whole one, in hundreds of tests that are about what it does. Here it begins as a
fork of a process that has imported the modules and has never made an environment. It is a child of
the process that asked, with the descriptors, environment and folder that a new interpreter would
have. That a new one finds its modules is seen by tests of programs that start workers.
"""

from __future__ import annotations

import array
import ctypes
import importlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agentgym.envs.alfworld.original import package
from agentgym.envs.alfworld.original import process as alfworld
from agentgym.envs.textworld.original import isolated_session as textworld
from agentgym.errors import DependencyNotInstalled
from agentgym.registration import FAMILIES
from tests.garbage import collect_seldom, spare
from tests.processes import renumber

ROOT = Path(__file__).parent.parent
AHEAD = ("agentgym.vector.worker", "gymnasium", "numpy.random")
"""What every worker imports, beside the environments of the families."""
ENGINES = {
    alfworld.__name__: ("alfworld.agents.environment.alfred_tw_env", "textworld.envs.pddl"),
    textworld.__name__: ("textworld",),
}
"""What is imported ahead of the workers that play in engines of other people, when one is asked."""
MOST = 1 << 17
"""Bytes of a request."""
DONE = b"done"
SET_CHILD_SUBREAPER = 36

_lock = threading.Lock()


class WarmProcess(subprocess.Popen[bytes]):
    """A process that begins as a fork; takes what the starters of workers give."""

    def _execute_child(self, args: Sequence[str], *arguments: Any) -> None:  # type: ignore[override]
        _, _, _, passed, *descriptors = arguments
        assert list(args[:2]) == [sys.executable, "-c"]
        streams = zip(range(3), (descriptors[5], descriptors[8], descriptors[10]), strict=True)
        places = {number: number for number in passed} | {
            number: descriptor for number, descriptor in streams if descriptor != -1
        }
        try:
            self.pid = _fork([*args[2:]], places)
            self._child_created = True
        finally:
            self._close_pipe_fds(*descriptors[5:11])  # type: ignore[attr-defined]


WARM: Any = SimpleNamespace(**{**vars(subprocess), "Popen": WarmProcess})
"""In place of the module that a starter of workers imported."""


def _fork(command: list[str], places: dict[int, int]) -> int:
    """Have a program run in a fork that is a child of this process; returns its number.

    Args:
        command: The program's text, and its arguments.
        places: Number of a descriptor in the fork -> what it is here.
    """
    request = {
        "command": command, "places": [*places], "environment": dict(os.environ),
        "folder": os.getcwd(), "parent": os.getpid(),
    }  # fmt: skip
    with _lock:
        link = _server(os.getpid())
        # An orphan goes to the nearest process above it that takes orphans.
        _take_orphans(True)
        try:
            socket.send_fds(link, [json.dumps(request).encode()], [*places.values()])
            number = int(link.recv(64))
            assert link.recv(64) == DONE  # before, it has another parent
            return number
        finally:
            _take_orphans(False)


def _take_orphans(enabled: bool) -> None:
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, int(enabled), 0, 0, 0)


@cache
def _server(owner: int) -> socket.socket:
    """Start the process that forks for this one, with which it ends."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with far:
        program = f"from tests.warm_workers import serve; serve({far.fileno()})"
        subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            pass_fds=[far.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    assert near.recv(64) == DONE
    return near


def start_server() -> None:
    """Start the server of this process, unless it runs."""
    _server(os.getpid())


def serve(link_number: int) -> None:
    """Fork at every request; a fork returns from here when its program has ended."""
    collect_seldom()
    for name in (*AHEAD, *(family.entry_point.partition(":")[0] for family in FAMILIES)):
        importlib.import_module(name)
    spare()
    with socket.socket(fileno=link_number) as link:
        link.send(DONE)
        while True:
            text, files = _received(link)
            if not text:
                return
            request = json.loads(text)
            for name, modules in ENGINES.items():
                if name in request["command"][0]:
                    _import_engine(*modules)
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
    _become(request, files)
    exec(compile(request["command"][0], "<program>", "exec"), {"__name__": "__main__"})


def _received(link: socket.socket) -> tuple[bytes, list[int]]:
    """Receive a request, and the descriptors that come with it."""
    files = array.array("i")
    text, ancillary, _, _ = link.recvmsg(MOST, socket.CMSG_SPACE(16 * files.itemsize))
    for _, _, data in ancillary:
        files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return text, list(files)


@cache
def _import_engine(*modules: str) -> None:
    with suppress(ImportError, DependencyNotInstalled):  # which the worker says
        if modules[0].startswith("alfworld"):
            package.import_alfworld()  # without its side effects
        for name in modules:
            importlib.import_module(name)
    spare()


def _become(request: dict[str, Any], files: Sequence[int]) -> None:
    """Take over what a new process gets from the one that starts it."""
    while os.getppid() != request["parent"]:
        time.sleep(0.0005)
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["-c", *request["command"][1:]]
    renumber(files, request["places"])
