"""A sandbox of Linux namespaces, one process tree with a server as its process 1."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import (
    ExecResult,
    SandboxConfig,
    SandboxDied,
    SandboxLost,
    SandboxUnavailable,
)
from agentgym.sandbox.channel import Channel, SocketStream
from agentgym.sandbox.host_paths import check_tree, covered_places, shown_folders
from agentgym.sandbox.namespace.cgroup import MemoryGroup
from agentgym.sandbox.namespace.probe import find_obstacle, privileged, unshare
from agentgym.sandbox.served import LAST_WAIT, PATIENCE, ServedSandbox

STAGE = Path(__file__).with_name("stage.py")
BOOT = (
    "import sys; sys.path += sys.argv[1:3]; import stage; del sys.path[-2:]; "
    "stage.main(sys.argv[3:])"
)
"""Imports it as a module, so that its compiled form is used, which a script's never is. Its folders
leave the path again: inside, commands may be able to make folders of the same names."""
UID = 64_000
"""User that commands are on the host where root starts the sandbox."""


class NamespaceSandbox(ServedSandbox):
    """A sandbox of namespaces for users, mounts, processes, network, IPC, host name and cgroups.

    ``unshare`` of util-linux makes the namespaces and starts ``stage.py`` in them, which builds
    the file system, gives up all privileges and serves. Its connection is the only thing it has
    of the host, and it ends when that closes or when this process ends, however that happens.

    Args:
        config: What it holds and may do.
        overlay: Whether the tree lies under a layer that takes the changes, where the kernel can do
            that; else it is copied, which costs time and memory by its size.

    Raises:
        ConfigurationError: The configuration asks for an image.
    """

    isolation: ClassVar[str] = "namespace"

    def __init__(self, config: SandboxConfig, *, overlay: bool = True) -> None:
        if config.image:
            raise ConfigurationError(
                f"expected no image, which namespaces do not run, got {config.image!r}; use "
                "sandbox='docker'"
            )
        super().__init__(config)
        self._with_overlay = overlay
        self._process: subprocess.Popen[bytes] | None = None
        self._group: MemoryGroup | None = None

    @classmethod
    def probe(cls) -> str:
        """Return why this machine cannot run it, and what to do; empty if one was opened."""
        try:
            _open_once()
        except SandboxUnavailable as error:
            return str(error)
        return ""

    @property
    def capabilities(self) -> frozenset[str]:
        """Everything; where there is no cgroup for its memory, the server inside looks at it."""
        return frozenset({"snapshot", "network", "memory", "processes", "disk", "files"})

    def _holds_memory(self) -> bool:
        """Return whether there is a cgroup, which is known once it is started."""
        return self._group is not None

    def exec(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run a command line and wait for its end."""
        group = self._group
        before = 0 if group is None else group.kills()
        result = super().exec(command, timeout=timeout, cwd=cwd, env=env)
        if group is not None and group.kills() > before:
            return replace(result, exhausted=True)
        return result

    def _launch(self) -> Channel:
        """Start the processes and wait until the inside is built."""
        reason = find_obstacle()
        if reason:
            raise SandboxUnavailable(reason)
        settings = self._stage_settings()
        self._group = MemoryGroup.make(self.config.limits.memory)
        try:
            near, far = socket.socketpair()
            with far:
                self._process = _spawn(far, self._group)
        except OSError as error:  # this process may open no more files, or start no more programs
            self._dispose()
            raise SandboxLost(f"expected to start a sandbox of namespaces, got: {error}") from error
        channel = Channel(SocketStream(near))
        try:
            channel.call("build", seconds=PATIENCE, **settings)
        except (OSError, SandboxDied) as error:
            channel.close()
            told = self._last_words()
            self._dispose()
            raise SandboxUnavailable(
                f"expected to build a sandbox of namespaces, got: {told or error}; correct what "
                "it names, or use another back end"
            ) from error
        return channel

    def _stage_settings(self) -> dict[str, Any]:
        """Return what ``stage.py`` is told."""
        config = self.config
        check_tree(config)
        return {
            "workdir": config.workdir,
            "home": self.home,
            "places": list(self.places),
            "tree": None if config.tree is None else str(config.tree.resolve()),
            "visible": [[str(place), str(path)] for place, path in shown_folders(config).items()],
            "hidden": [str(path) for path in covered_places(config)],
            "overlay": self._with_overlay,
            "limits": asdict(config.limits),
            "uid": UID if privileged() else None,
        }

    def _rlimits(self) -> dict[str, int]:
        """Bound every process; memory only where no cgroup bounds all of them."""
        limits = self.config.limits
        found = {
            "NPROC": limits.processes,
            "FSIZE": limits.file_size,
            "NOFILE": limits.open_files,
            "CORE": 0,
        }
        return found if self._group is not None else {**found, "AS": limits.memory}

    def _last_words(self) -> str:
        """Return the last line that the processes printed before they failed."""
        assert self._process is not None and self._process.stderr is not None
        try:
            _, printed = self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            return ""
        return (printed.decode("utf-8", "replace").strip().splitlines() or [""])[-1]

    def _dispose(self) -> None:
        """Wait for the end of the processes and remove the cgroup."""
        process, self._process = self._process, None
        group, self._group = self._group, None
        if process is not None:
            try:
                process.wait(LAST_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()  # and with it process 1, by --kill-child
                process.wait()
            if process.stderr is not None:
                process.stderr.close()
        if group is not None:
            group.remove()


@cache
def _open_once() -> None:
    """Open and close a box; done until it succeeds, since a machine may lack something for a while.

    Raises:
        SandboxUnavailable: It cannot be opened.
    """
    try:
        NamespaceSandbox(SandboxConfig()).start().close()
    except (OSError, SandboxDied) as error:
        raise SandboxUnavailable(f"expected a sandbox of namespaces to start, got: {error}") from (
            error
        )


def _spawn(connection: socket.socket, group: MemoryGroup | None) -> subprocess.Popen[bytes]:
    """Start the stage in new namespaces, with nothing of the host but its connection."""
    # A Python that was built with old headers has none; then only the connection tells of our end.
    owner = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
    joining = -1 if group is None else group.open()
    given = [connection.fileno(), owner, joining]
    # Where this process has closed its standard streams, these have their numbers, which the
    # child's own streams take.
    passed = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 3) if one >= 0 else -1 for one in given]
    folders = map(str, STAGE.parents[:2])
    command = [sys.executable, "-I", "-S", "-c", BOOT, *folders, *map(str, passed)]
    try:
        return subprocess.Popen(
            [*unshare(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[descriptor for descriptor in passed if descriptor >= 0],
            env={},
            cwd="/",
            start_new_session=True,  # the keys that interrupt this process are not meant for it
        )
    finally:
        for descriptor in (owner, joining, *passed):
            if descriptor >= 0:
                os.close(descriptor)
