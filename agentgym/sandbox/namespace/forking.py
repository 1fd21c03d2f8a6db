"""The client of the fork server: starts it for this process, and forks sandboxes with it."""

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
"""Imports the server as a module, because Python caches the bytecode of modules, but not of
scripts."""
PATIENCE = 60.0
"""Time limit for starting the server and for a fork, in seconds."""

_servers: dict[int, ForkServer] = {}
_lock = threading.Lock()


class BoxProcess:
    """The keeper process of a sandbox; it ends together with the sandbox.

    Args:
        pid: Process id of the keeper.
        handle: Descriptor that becomes readable when the keeper has ended.
    """

    def __init__(self, pid: int, handle: int) -> None:
        self.pid, self._handle = pid, handle

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it has ended."""
        poller = select.poll()
        poller.register(self._handle, select.POLLIN)
        return bool(poller.poll(1000 * seconds))

    def kill(self) -> None:
        """Kill the keeper, and so the sandbox."""
        if not self.wait(0):
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def interrupt(self) -> None:
        """Signal process 1, the child of the keeper, to kill the running command."""
        for pid, parent in _parents().items():
            if parent == self.pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGUSR1)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._handle)


def _parents() -> dict[int, int]:
    """Return process id -> parent's id for every running process."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            # The program's name may contain anything, so read the fields after the last bracket.
            words = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            parents[int(folder.name)] = int(words[1])
    return parents


class ForkServer:
    """The fork server process, started by the constructor.

    Raises:
        SandboxUnavailable: The server cannot be started.
        OSError: This process has too many open files or child processes.
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
        """Start the processes of a sandbox.

        Args:
            connection: The sandbox's end of the connection.
            group: The control group that it joins.
            users: User and group of the tree's files, and their user inside; empty if equal.

        Raises:
            OSError: The server has ended, or this process has too many open files.
        """
        letters, descriptors, opened = CONNECTION, [connection.fileno()], list[int]()
        # Missing if Python was built with old kernel headers; then the sandbox notices the end of
        # this process only by the connection.
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
        """End the server; its sandboxes continue."""
        self._connection.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _last_words(self) -> str:
        """Return the last line that the server printed before it failed."""
        self._connection.close()
        try:
            _, printed = self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            return ""
        return last_line(printed.decode("utf-8", "replace"))


def fork_box(
    connection: socket.socket, group: MemoryGroup | None, users: tuple[int, ...] = ()
) -> BoxProcess:
    """Start the processes of a sandbox by the fork server of this process.

    Args:
        connection: See `ForkServer.fork`.
        group: See `ForkServer.fork`.
        users: See `ForkServer.fork`.

    Raises:
        SandboxUnavailable: The server cannot be started.
        SandboxLost: It cannot fork: there are too many open files or processes.
    """
    for last in (False, True):
        try:
            return _server().fork(connection, group, users)
        except OSError as error:
            if last or not isinstance(error, ConnectionError):
                raise SandboxLost(
                    f"expected to start a sandbox of namespaces, got: {error}"
                ) from error
            forget_server()  # the server was killed; start another one
    raise AssertionError  # the second try returns or raises


def forget_server() -> None:
    """End the fork server of this process; the next sandbox starts another one."""
    with _lock:
        server = _servers.pop(os.getpid(), None)
    if server is not None:
        server.close()


def _server() -> ForkServer:
    """Return the fork server of this process; start it if there is none."""
    pid = os.getpid()
    with _lock:
        if pid not in _servers:  # by pid, because a fork must not use its parent's server
            _servers[pid] = ForkServer()
        return _servers[pid]


def _start(connection: socket.socket) -> subprocess.Popen[bytes]:
    """Start the server process, with its connection as the only inherited descriptor."""
    owner = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
    # If this process has closed its standard streams, these descriptors may have the numbers 0 to
    # 2, which the child's own streams take.
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
            start_new_session=True,  # Ctrl-C in the terminal must not reach it
        )
    finally:
        for descriptor in (owner, *passed):
            if descriptor >= 0:
                os.close(descriptor)


def _renew_lock() -> None:
    """Give a fork a new lock: the old one may be held by a thread that only the parent has."""
    global _lock
    _lock = threading.Lock()


atexit.register(forget_server)
os.register_at_fork(after_in_child=_renew_lock)
