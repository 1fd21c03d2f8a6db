"""The fork server of this process, and the boxes' processes that it makes."""

from __future__ import annotations

import atexit
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from agentgym.sandbox.base import SandboxLost, SandboxUnavailable
from agentgym.sandbox.namespace.cgroup import MemoryGroup
from agentgym.sandbox.namespace.handover import CONNECTION, GROUP, OWNER, READY, USER
from agentgym.sandbox.namespace.probe import privileged
from agentgym.support.text_lines import last_line

FOLDER = Path(__file__).parent
BOOT = (
    "import sys; sys.path += sys.argv[1:3]; import fork_server; del sys.path[-2:]; "
    "fork_server.main(sys.argv[3:])"
)
"""Imports it as a module, so that its compiled form is used, which a script's never is."""
PATIENCE = 60.0
"""Seconds that the server may take to start, or to fork."""

_servers: dict[int, ForkServer] = {}
_lock = threading.Lock()


class BoxProcess:
    """The keeper of a box, whose end is the end of the box, and the other way round.

    Args:
        pid: Its number.
        handle: A descriptor that says whether it has ended.
    """

    def __init__(self, pid: int, handle: int) -> None:
        self.pid, self._handle = pid, handle

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended."""
        poller = select.poll()
        poller.register(self._handle, select.POLLIN)
        return bool(poller.poll(1000 * seconds))

    def kill(self) -> None:
        """End it."""
        if not self.wait(0):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def interrupt(self) -> None:
        """Ask process 1, the child of the keeper, to kill the command that runs."""
        for pid, parent in _parents().items():
            if parent == self.pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGUSR1)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)


def _parents() -> dict[int, int]:
    """Return the parent of every process that runs."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            # A name may hold anything, so look behind the last bracket.
            words = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            parents[int(folder.name)] = int(words[1])
    return parents


class ForkServer:
    """A process that forks keepers of boxes, started with this.

    Raises:
        SandboxUnavailable: It cannot be started.
        OSError: This process may open no more files, or start no more programs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection, far = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with far:
            self._process = _start(far)
        self._connection.settimeout(PATIENCE)
        try:
            if self._connection.recv(16) == READY:
                return
        except OSError:
            pass
        message = self._last_words()
        self.close()
        raise SandboxUnavailable(
            f"expected a server that forks boxes to start, got: {message or 'nothing'}; see that "
            f"{sys.executable} can be run and {FOLDER} be read"
        )

    def fork(
        self, connection: socket.socket, group: MemoryGroup | None, users: tuple[int, ...] = ()
    ) -> BoxProcess:
        """Start the processes of a box.

        Args:
            connection: What the box listens to.
            group: The control group that it joins.
            users: User and group of its tree, and the user that these files are of inside; nothing
                if they are already.

        Raises:
            OSError: The server has ended, or this process may open no more files.
        """
        letters, descriptors, opened = CONNECTION, [connection.fileno()], list[int]()
        # A Python that was built with old headers has none; then only the connection tells of our
        # end.
        if hasattr(os, "pidfd_open"):
            opened.append(os.pidfd_open(os.getpid()))
            letters += OWNER
        try:
            if group is not None:
                opened.append(group.open())
                letters += GROUP
            letters += "" if privileged() else USER
            with self._lock:
                messages = [" ".join((letters, *map(str, users))).encode("ascii")]
                socket.send_fds(self._connection, messages, [*descriptors, *opened])
                answer, handles, _, _ = socket.recv_fds(
                    self._connection, 32, 1, socket.MSG_CMSG_CLOEXEC
                )
        finally:
            for descriptor in opened:
                os.close(descriptor)
        if not answer:
            raise ConnectionResetError("the server that forks boxes has ended")
        if not handles:
            raise OSError("the server that forks boxes could start none")
        return BoxProcess(int(answer), handles[0])

    def close(self) -> None:
        """End it; boxes go on."""
        self._connection.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _last_words(self) -> str:
        """Return the last line that it printed before it failed."""
        self._connection.close()
        try:
            _, printed = self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            return ""
        return last_line(printed.decode("utf-8", "replace"))


def fork_box(
    connection: socket.socket, group: MemoryGroup | None, users: tuple[int, ...] = ()
) -> BoxProcess:
    """Start the processes of a box, with the fork server of this process.

    Args:
        connection: See `ForkServer.fork`.
        group: See there.
        users: See there.

    Raises:
        SandboxUnavailable: The server cannot be started.
        SandboxLost: It cannot fork: this process may open no more files, or start no more programs.
    """
    for last in (False, True):
        try:
            return _server().fork(connection, group, users)
        except OSError as error:
            if last or not isinstance(error, ConnectionError):
                raise SandboxLost(
                    f"expected to start a sandbox of namespaces, got: {error}"
                ) from error
            forget_server()  # somebody ended it
    raise AssertionError  # the second try returns or raises


def forget_server() -> None:
    """End the fork server of this process; the next box starts another."""
    with _lock:
        server = _servers.pop(os.getpid(), None)
    if server is not None:
        server.close()


def _server() -> ForkServer:
    """Return the fork server of this process, started if there is none."""
    pid = os.getpid()
    with _lock:
        if pid not in _servers:  # after a fork, those of the parent are left alone
            _servers[pid] = ForkServer()
        return _servers[pid]


def _start(connection: socket.socket) -> subprocess.Popen[bytes]:
    """Start the program, with nothing of the host but its connection."""
    owner = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
    # Where this process has closed its standard streams, these have their numbers, which the
    # child's own streams take.
    descriptors = (connection.fileno(), owner)
    passed = [
        fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3) if descriptor >= 0 else -1
        for descriptor in descriptors
    ]
    folders = (str(FOLDER), str(Path(__file__).parents[1]))
    command = [sys.executable, "-I", "-S", "-c", BOOT, *folders, *map(str, passed)]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[descriptor for descriptor in passed if descriptor >= 0],
            env={},
            cwd="/",
            start_new_session=True,  # the keys that interrupt this process are not meant for it
        )
    finally:
        for descriptor in (owner, *passed):
            if descriptor >= 0:
                os.close(descriptor)


def _renew_lock() -> None:
    """Let a fork use the lock, which another thread of its parent may have held."""
    global _lock
    _lock = threading.Lock()


atexit.register(forget_server)
os.register_at_fork(after_in_child=_renew_lock)
