"""A container as a sandbox: its process 1 is the server of ``pid1.py``.

A request is a message over an open connection, not a new process of the engine. Process 1 reads
from the connection, so the container ends with its client, for any reason; then the engine removes
it. In images without Python, :mod:`.shell` runs commands one by one.
"""

from __future__ import annotations

import logging
import os
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentgym.errors import NotSupported
from agentgym.sandbox import pid1
from agentgym.sandbox.archives import pack_tree
from agentgym.sandbox.base import SandboxConfig, SandboxDied, SandboxUnavailable
from agentgym.sandbox.channel import Channel
from agentgym.sandbox.docker import creation, orphans
from agentgym.sandbox.docker.attached import AttachedStream, attach
from agentgym.sandbox.docker.engine import find_engine, probe_engine
from agentgym.sandbox.docker.images import Images
from agentgym.sandbox.docker.shell import KEEPER, ShellChannel
from agentgym.sandbox.host_paths import check_tree
from agentgym.sandbox.served import PATIENCE, ServedSandbox

if TYPE_CHECKING:
    from typing_extensions import Self

LOADER = """\
import os, sys
size, source = int(sys.argv.pop()), b""
while len(source) < size:
    part = os.read(0, size - len(source))
    source += part or sys.exit()
exec(compile(source, "pid1.py", "exec"))
"""
"""Reads the server from standard input: the image need not contain it, and the engine need not see
this machine's files. As an argument it would appear in every list of processes."""

_without_python: set[str] = set()
"""Ids of the images whose Python cannot run the server."""
_log = logging.getLogger(__name__)


class DockerSandbox(ServedSandbox):
    """A container without network or capabilities, of an image or of the host's programs.

    If ``config.image`` is empty, its root is read-only and contains only the host's programs;
    writable folders are in memory. A container of an image is writable everywhere; engines cannot
    limit how much it writes, so :attr:`capabilities` lacks that limit.

    Args:
        config: Initial content and permissions.
        engine: Address of the engine's socket; ``DOCKER_HOST`` or the default paths if left out.
        pull: When to pull the image: ``"missing"``, ``"never"`` or ``"always"``.
        mirror: Registry to pull images of the Docker Hub from.
        budget: Disk space for images pulled by agentgym, in bytes or as text such as ``"50GB"``.

    Raises:
        SandboxUnavailable: No engine is available; the message gives the reason and the remedy.
        ConfigurationError: An argument is out of range.
    """

    isolation: ClassVar[str] = "container"
    images: ClassVar[bool] = True

    def __init__(
        self,
        config: SandboxConfig,
        *,
        engine: str = "",
        pull: str = "missing",
        mirror: str = "",
        budget: int | str | None = None,
    ) -> None:
        super().__init__(config)
        self._engine = find_engine(engine)
        self._images = Images(self._engine, pull=pull, mirror=mirror, budget=budget)
        self._plan: creation.CreationPlan | None = None
        self._container = ""
        self._stream: AttachedStream | None = None
        # Closes the connection of a sandbox that is garbage-collected without close(): the SDK's
        # reference cycles would keep it open.
        self._closing = weakref.finalize(self, int)

    @classmethod
    def probe(cls) -> str:
        """Return why this machine cannot run it, and the remedy; empty if it can."""
        return probe_engine()

    @classmethod
    def holds(cls, image: str) -> bool:
        """Return whether the engine has an image."""
        return not probe_engine() and Images(find_engine()).find(image) is not None

    @property
    def capabilities(self) -> frozenset[str]:
        """Features and enforced limits with this image on this engine."""
        features = {"network"}
        if self._engine.limits("MemoryLimit"):
            features.add("memory")
        if self._engine.limits("PidsLimit"):
            features.add("processes")
        if not self.config.image:
            features |= {"disk"} if self._engine.is_podman else {"disk", "files"}
        if self._planned().served:
            features.add("snapshot")
        return frozenset(features)

    @property
    def places(self) -> tuple[str, ...]:
        """Folders in snapshots, besides ``workdir``."""
        return self._planned().places

    @property
    def home(self) -> str:
        """The home folder of commands."""
        return self._planned().home

    def start(self) -> Self:
        """Start the container, if it is not running, and send the tree to process 1."""
        if self._channel is not None:
            return self
        orphans.sweep_once(self._engine)
        try:
            self._begin()
        except SandboxDied as error:
            if not self.config.image or not self._planned().served:
                raise
            self._give_up_server(f"it ended at once, and said {self._last_words()!r}", error)
            self._begin()
        return self

    def _begin(self) -> None:
        """Start process 1 and give it the tree."""
        super().start()
        if self.config.tree is None:
            return
        try:
            body = pack_tree(self.config.tree)
            self._call(
                "put", seconds=2 * PATIENCE, body=body, folder=self.workdir, pristine=True
            )  # fmt: skip
        except BaseException:
            self.close()
            raise

    def snapshot(self) -> bytes:
        """Return all changes.

        Raises:
            NotSupported: A change is outside the folders in snapshots.
        """
        if self.config.image and self._planned().served:
            self._check_reach()
        return super().snapshot()

    def _check_reach(self) -> None:
        """Raise NotSupported if a snapshot would not contain all changes to the image."""
        places = [Path(place) for place in (self.workdir, *self.places)]
        changes = self._engine.api.diff(self._container) or ()
        for path in sorted((Path(change["Path"]) for change in changes), reverse=True):
            if not any(path.is_relative_to(p) or p.is_relative_to(path) for p in places):
                raise NotSupported(
                    f"expected changes only below {', '.join(map(str, places))}, got one at "
                    f"{path}, which snapshots do not contain; write only to these folders"
                )

    def _planned(self) -> creation.CreationPlan:
        """Return the plan of the container; pulls the image if necessary."""
        if self._plan is None:
            check_tree(self.config)
            self._plan = creation.plan_container(
                self.config, self._engine, self._images, _without_python
            )
        return self._plan

    def _settings(self) -> dict[str, Any]:
        """Return the server's settings, with the environment variables of the image."""
        settings = super()._settings()
        plan = self._planned()
        if self.config.image:
            path = ":".join((*self.config.path, plan.environment.get("PATH", creation.PATH)))
            environment = {**plan.environment, **settings["environment"], "PATH": path}
            settings["environment"] = {**environment, **self.config.environment}
        return settings

    def _rlimits(self) -> dict[str, int]:
        """Return the limits of each process; more of them if the engine enforces fewer limits."""
        limits = self.config.limits
        rlimits = {"FSIZE": limits.file_size, "NOFILE": limits.open_files, "CORE": 0}
        if not self._engine.limits("MemoryLimit"):
            rlimits["AS"] = limits.memory
        if not self._engine.limits("PidsLimit"):
            rlimits["NPROC"] = limits.processes
        return rlimits

    def _fails(self) -> bool:
        """Return whether the engine has stopped answering."""
        try:
            return not self._engine.api.ping()
        except Exception:  # requests, urllib3 and the SDK have no common base class of errors
            return True

    def _launch(self) -> Channel:
        """Create a container, attach to it, and start it."""
        plan = self._planned()
        if not plan.served:
            return self._launch_shell()
        source = Path(pid1.__file__).read_bytes()
        command = [plan.python, "-I", "-S", "-B", "-c", LOADER, str(len(source))]
        try:
            stream = self._run(command)
        except SandboxUnavailable as error:
            if self.config.image and _names_missing_program(str(error)):
                self._give_up_server("it is not there", error)
                return self._launch_shell()
            raise
        stream.sendall(source)
        return Channel(stream)

    def _launch_shell(self) -> Channel:
        """Start a container without a server, in which the engine runs each command."""
        stream = self._run(["/bin/sh", "-c", KEEPER])
        return ShellChannel(stream, self._engine, self._container)

    def _run(self, command: list[str]) -> AttachedStream:
        """Start a container with a command."""
        errors = self._engine.errors
        self._stream = None
        try:
            self._container = creation.create(self._engine, self._planned(), command)
        except errors.ImageNotFound:  # a budget, or the user, removed it since the last start
            self._plan = None
            self._container = creation.create(self._engine, self._planned(), command)
        self._maker = os.getpid()
        try:
            # Attach before the start, or the first output would be lost.
            self._stream = attach(self._engine, self._container)
            self._engine.api.start(self._container)
        except BaseException as error:
            if self._stream is not None:
                self._stream.close()
            orphans.remove(self._engine, self._container)
            if isinstance(error, errors.DockerException):
                raise SandboxUnavailable(
                    f"expected the engine at {self._engine.address} to start a container, got: "
                    f"{str(error)[:400]}; check its limits with `docker info`"
                ) from error
            raise
        # The finalizer still refers to the previous, closed stream; release it.
        self._closing.detach()
        self._closing = weakref.finalize(self, self._stream.close)
        return self._stream

    def _dispose(self) -> None:
        """Remove the container, which is ending by itself."""
        container, self._container = self._container, ""
        if container and self._maker == os.getpid():
            orphans.remove(self._engine, container)

    def _give_up_server(self, reason: str, error: Exception) -> None:
        """Remember and log that an image cannot run the server."""
        _without_python.add(self._planned().image)
        self._plan = None
        _log.warning(
            "expected a python3 of at least 3.6 in the image %s, but %s (%s); its commands run one "
            "by one, which is slower, and there are no snapshots", self.config.image, reason,
            " ".join(str(error).split())[:200],
        )  # fmt: skip

    def _last_words(self) -> str:
        """Return what process 1 wrote to standard error."""
        text = self._stream.errors if self._stream is not None else b""
        return text.decode("utf-8", "replace").strip()[-300:]


def _names_missing_program(text: str) -> bool:
    """Return whether an engine's error says that python3 is not in the image."""
    lower = text.lower()
    return "python3" in lower and ("not found" in lower or "no such file" in lower)
