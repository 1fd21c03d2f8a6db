"""A sandbox of Linux namespaces: one process tree with a server as its process 1."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentgym.errors import DataError
from agentgym.sandbox.base import (
    ExecResult,
    SandboxConfig,
    SandboxDied,
    SandboxLost,
    SandboxUnavailable,
)
from agentgym.sandbox.channel import Channel, SocketStream
from agentgym.sandbox.host_paths import check_tree, covered_places, shown_folders
from agentgym.sandbox.images.store import ImageStore
from agentgym.sandbox.namespace.cgroup import MemoryGroup
from agentgym.sandbox.namespace.forking import BoxProcess, fork_box
from agentgym.sandbox.namespace.image_boxes import ImageRoot
from agentgym.sandbox.namespace.probe import find_obstacle, privileged
from agentgym.sandbox.served import LAST_WAIT, PATIENCE, ServedSandbox

if TYPE_CHECKING:
    from typing_extensions import Self

UID = 64_000
"""User id of commands on the host if root starts the sandbox."""


class NamespaceSandbox(ServedSandbox):
    """A sandbox of namespaces for users, mounts, processes, network, IPC, host name and cgroups.

    A fork of :mod:`.fork_server` makes the namespaces. In them, ``stage.py`` builds the file
    system, drops all privileges and serves. Its connection is its only link to the host; it ends
    when the connection closes or when this process ends, for any reason.

    The root consists of the host's own programs, or of an image from a store
    (:mod:`agentgym.sandbox.images`), into which it can be pulled. The image does not need Python,
    and only commands execute its content. Its ``Env``, ``User`` and ``WorkingDir`` are used. There
    is a single user, who owns all files; changing owners has no effect. Commands can write
    everywhere, up to the disk limit.

    Args:
        config: Initial content and permissions.
        overlay: Whether to use overlayfs for changes to the tree, if the kernel supports it;
            otherwise the tree is copied, which takes time and memory. Layers of an image are also
            copied then, if they fit into the memory limit.
        pull: When to pull an image into the store: one of ``image_boxes.POLICIES``.
        mirror: Registry to pull images of the Docker Hub from.
        store: Folder of the images; in the cache of agentgym if left out.

    Raises:
        ConfigurationError: The configuration has an image and also folders of the host.
    """

    isolation: ClassVar[str] = "namespace"
    images: ClassVar[bool] = True

    def __init__(
        self,
        config: SandboxConfig,
        *,
        overlay: bool = True,
        pull: str = "missing",
        mirror: str = "",
        store: Path | None = None,
    ) -> None:
        super().__init__(config)
        self._with_overlay = overlay
        self._options: dict[str, Any] = {
            "overlay": overlay,
            "pull": pull,
            "mirror": mirror,
            "store": store,
        }
        self._image = None
        if config.image:
            self._image = ImageRoot(config, own_store(store), pull, mirror)
        self._process: BoxProcess | None = None
        self._group: MemoryGroup | None = None

    @classmethod
    def probe(cls) -> str:
        """Return why this machine cannot run it, and the remedy; empty if it can."""
        try:
            _open_once()
        except SandboxUnavailable as error:
            return str(error)
        return ""

    @classmethod
    def holds(cls, image: str) -> bool:
        """Return whether the store has an image."""
        with suppress(DataError):  # the store belongs to another user
            return own_store().find(image) is not None
        return False

    @property
    def capabilities(self) -> frozenset[str]:
        """All features. Without a memory cgroup, the server inside checks the memory."""
        return frozenset({"snapshot", "network", "memory", "processes", "disk", "files"})

    def _twin(self) -> Self:
        return type(self)(self.config, **self._options)

    def _holds_memory(self) -> bool:
        """Return whether a cgroup enforces exactly the memory limit; known after the start."""
        return self._group is not None and self._group_size() == self.config.limits.memory

    def _group_size(self) -> int:
        """Return the limit of the cgroup, in bytes.

        Files are in memory and count, too. If the disk limit exceeds the memory limit, it is added,
        since the disk could not be used otherwise; the server inside then checks the memory of
        processes.
        """
        limits = self.config.limits
        return limits.memory + (limits.disk if limits.disk > limits.memory else 0)

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
        old_kills = 0 if group is None else group.kills()
        result = super().exec(command, timeout=timeout, cwd=cwd, env=env)
        if group is not None and group.kills() > old_kills:
            return replace(result, exhausted=True)
        return result

    def interrupt(self) -> None:
        """Kill the running command, from another thread; its ``exec`` returns.

        Files and background processes of earlier commands are kept.
        """
        process = self._process
        if process is not None:
            process.interrupt()

    def _launch(self) -> Channel:
        """Start the processes and wait until the file system is built."""
        reason = find_obstacle()
        if reason:
            raise SandboxUnavailable(reason)
        settings = self._stage_settings()
        self._group = MemoryGroup.make(self._group_size())
        try:
            near, far = socket.socketpair()
            with far:
                self._process = fork_box(far, self._group, self._users())
        except BaseException as error:
            self._dispose()
            if isinstance(error, OSError):  # e.g. this process has too many open files
                raise SandboxLost(
                    f"expected to start a sandbox of namespaces, got: {error}"
                ) from error
            raise
        channel = Channel(SocketStream(near))
        try:
            channel.call("build", seconds=PATIENCE, **settings)
        except (OSError, SandboxDied) as error:
            channel.close()
            self._dispose()
            raise SandboxUnavailable(
                f"expected to build a sandbox of namespaces, got: {error}; correct what it names, "
                "or use another back end"
            ) from error
        return channel

    def _users(self) -> tuple[int, ...]:
        """Return user and group of the tree's files, and their user inside, if they differ."""
        if self.config.tree is None or self._image is not None or not privileged():
            return ()
        status = self.config.tree.stat()
        return () if status.st_uid == UID else (status.st_uid, status.st_gid, UID)

    def _stage_settings(self) -> dict[str, Any]:
        """Return the settings for ``stage.py``."""
        config, image = self.config, self._image
        check_tree(config)
        common = {
            "tree": None if config.tree is None else str(config.tree.resolve()),
            "overlay": self._with_overlay,
            "limits": asdict(config.limits),
            "uid": UID if privileged() else None,
        }
        if image is not None:
            return {**common, "image": image.stage_settings()}
        return {
            **common,
            "image": None,
            "workdir": config.workdir,
            "home": self.home,
            "places": list(self.places),
            "visible": [[str(place), str(path)] for place, path in shown_folders(config).items()],
            "hidden": [str(path) for path in covered_places(config)],
        }

    def _settings(self) -> dict[str, Any]:
        """Return the server's settings, completed by the image's."""
        settings = super()._settings()
        return settings if self._image is None else self._image.completed(settings)

    @property
    def home(self) -> str:
        """The home folder of commands."""
        return super().home if self._image is None else self._image.user.home

    def _rlimits(self) -> dict[str, int]:
        """Return the limits of each process; memory only if no cgroup limits all of them."""
        limits = self.config.limits
        rlimits = {
            "NPROC": limits.processes,
            "FSIZE": limits.file_size,
            "NOFILE": limits.open_files,
            "CORE": 0,
        }
        return rlimits if self._group is not None else {**rlimits, "AS": limits.memory}

    def _dispose(self) -> None:
        """Wait for the end of the processes and remove the cgroup."""
        process, self._process = self._process, None
        group, self._group = self._group, None
        if process is not None:
            if not process.wait(LAST_WAIT):
                process.kill()  # process 1 of the sandbox ends with it
                process.wait(LAST_WAIT)
            process.close()
        if self._image is not None:
            self._image.release()
        if group is not None:
            group.remove()


def own_store(folder: Path | None = None) -> ImageStore:
    """Return an image store whose files belong to the host user of the commands.

    Args:
        folder: Folder of the store; in the cache of agentgym if left out.
    """
    return ImageStore(folder, owner=UID if privileged() else None)


@cache
def _open_once() -> None:
    """Open and close a sandbox; only success is cached, because an obstacle may be temporary.

    Raises:
        SandboxUnavailable: No sandbox can be opened.
    """
    try:
        NamespaceSandbox(SandboxConfig()).start().close()
    except (OSError, SandboxDied) as error:
        raise SandboxUnavailable(f"expected a sandbox of namespaces to start, got: {error}") from (
            error
        )
