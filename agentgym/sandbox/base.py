"""What a sandbox is: a place where commands of a model run, whatever keeps them there."""

from __future__ import annotations

import posixpath
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

from agentgym.core import options
from agentgym.errors import ConfigurationError, EnvFailure, NotSupported

if TYPE_CHECKING:
    from typing_extensions import Self

ENVIRONMENT: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""Variables that every command sees, besides ``PATH`` and ``HOME``; none come from the host."""
LONGEST = 86_400
"""Most seconds that a command may take."""


class SandboxUnavailable(NotSupported):
    """A kind of sandbox cannot run on this machine; the message says why and what to do."""


class SandboxDied(EnvFailure):
    """A sandbox ended while it was used: what ran inside ended it."""


class SandboxLost(SandboxDied):
    """A sandbox cannot be reached any more, and nothing that ran inside is the reason."""


@dataclass(frozen=True)
class SandboxLimits:
    """What a sandbox may use; a back end that cannot hold one says so in its ``capabilities``."""

    memory: int = 2 << 30
    """Bytes of memory of all processes together. Where no cgroup can be had, process 1 looks ten
    times a second whether it is more, and the kernel bounds each process alone."""
    processes: int = 128
    """Processes and threads at a time."""
    disk: int = 256 << 20
    """Bytes that can be written in all."""
    files: int = 20_000
    """Files and folders that can be made."""
    file_size: int = 64 << 20
    """Bytes of one file."""
    open_files: int = 512
    """Files that a process may hold open."""
    output: int = 50 << 20
    """Bytes that a command may print before it is killed."""
    kept_output: int = 64 << 10
    """Bytes of its output that are kept, half from the beginning and half from the end."""

    def __post_init__(self) -> None:
        """Refuse what bounds nothing.

        Raises:
            ConfigurationError: A limit is no positive integer.
        """
        for each in fields(self):
            options.integer(getattr(self, each.name), each.name, 1, None)


@dataclass(frozen=True)
class SandboxConfig:
    """What a sandbox holds when it starts, and what it may do."""

    tree: Path | None = None
    """Folder of which the sandbox gets a private copy as ``workdir``; it is never written to. None
    leaves there what the image holds, or an empty folder."""
    workdir: str = "/testbed"
    """Where commands run."""
    image: str = ""
    """The container image that is the root; empty makes one of the host's ``/usr`` and
    ``visible``."""
    visible: tuple[Path, ...] = ()
    """Files and folders of the host that can be read inside, at the same place. The system's own
    programs and the running Python with its standard library always can."""
    mounts: Mapping[str, Path] = field(default_factory=dict)
    """Place inside -> file or folder of the host that can be read there."""
    hidden: tuple[Path, ...] = ()
    """Files and folders of the host that are empty inside, although what holds them is visible."""
    path: tuple[str, ...] = ()
    """Folders that stand before the system's own in ``PATH``."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables that commands see."""
    writable: tuple[str, ...] = ()
    """Further folders inside, besides ``workdir``, that commands can write to; snapshots hold
    them. They are empty at the start, or what an image holds there."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    """What it may use."""
    trusted: bool = False
    """Whether the commands are one's own: only then may they run without isolation."""

    def __post_init__(self) -> None:
        """Refuse paths that may lead elsewhere than their names say.

        Raises:
            ConfigurationError: A place inside is relative, or a path has parts such as ``..``.
        """
        further = ((name, one) for name in ("mounts", "writable") for one in getattr(self, name))
        for name, place in (("workdir", self.workdir), *further):
            if not place.startswith("/") or posixpath.normpath(place) != place or "\0" in place:
                raise ConfigurationError(
                    f"expected an absolute path without '..' as {name}, got {place!r:.120}"
                )
        paths = {name: getattr(self, name) for name in ("visible", "hidden", "path")}
        for name, found in {**paths, "mounts": self.mounts.values()}.items():
            for path in map(str, found):
                if ".." in path.split("/") or "\0" in path:
                    raise ConfigurationError(
                        f"expected paths without '..' in {name}, got {path!r:.120}; write where it "
                        "leads to"
                    )


@dataclass(frozen=True)
class ExecResult:
    """What a command did. A command that takes too long is a result, not an error."""

    exit_code: int
    """Its exit status; minus the number of the signal that killed it."""
    output: bytes
    """What it printed to standard output and standard error, in order; where that was more than
    ``kept_output``, the two ends of it joined by a marker."""
    truncated: int
    """Bytes that were left out of ``output``."""
    timed_out: bool
    """Whether it was killed for taking too long."""
    flooded: bool
    """Whether it was killed for printing more than ``SandboxLimits.output``."""
    killed: int
    """Other processes that it left behind and that were killed."""
    seconds: float
    """Wall time that it took."""
    exhausted: bool = False
    """Whether it, or a process that it started, was killed for taking more memory than
    ``SandboxLimits.memory``, as far as the back end can tell."""

    @property
    def text(self) -> str:
        """The output as text; what is not UTF-8 is replaced."""
        return self.output.decode("utf-8", "replace")


def check_timeout(timeout: float) -> float:
    """Return a time that a command may take.

    Raises:
        ConfigurationError: It is not above 0, not finite, or more than :data:`LONGEST`.
    """
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not 0 < timeout <= LONGEST:
        raise ConfigurationError(
            f"expected a timeout above 0 and up to {LONGEST} seconds, got {timeout!r:.60}"
        )
    return timeout


class Sandbox(ABC):
    """A place where commands run apart from the host; one user at a time.

    Between two commands nothing runs inside: what a command leaves behind is killed. So files are
    all of its state, and :meth:`snapshot` holds it. Closing a sandbox, or the end of the process
    that made it by whatever means, ends everything inside.

    Args:
        config: What it holds and may do.
    """

    isolation: ClassVar[str]
    """``"none"``, ``"namespace"``, ``"container"`` or ``"remote"``."""
    images: ClassVar[bool] = False
    """Whether it runs ``config.image``."""

    def __init__(self, config: SandboxConfig) -> None:
        self.config = config

    @classmethod
    def probe(cls) -> str:
        """Return why this machine cannot run it, and what to do; empty if it can."""
        return ""

    @classmethod
    def holds(cls, image: str) -> bool:
        """Return whether an image is on this machine already, where the back end looks for it."""
        return False

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]:
        """What it can do or hold on this machine.

        ``"snapshot"``, ``"network"`` (it has none), ``"memory"`` (of all processes together),
        ``"processes"``, ``"disk"``, ``"files"``.
        """

    @abstractmethod
    def start(self) -> Self:
        """Start it, if it is not running.

        Raises:
            SandboxUnavailable: This machine cannot.
            ConfigurationError: The configuration is none for this back end.
        """

    @abstractmethod
    def exec(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run a command line with ``bash -c`` (``sh -c`` in an image without bash).

        Args:
            command: The command line.
            timeout: Seconds after which it is killed with everything that it started.
            cwd: Where it runs; ``workdir`` if left out.
            env: Variables beyond those of the configuration.

        Raises:
            ConfigurationError: ``timeout`` is no number of seconds that a command may take.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes:
        """Return the beginning of a regular file; relative paths start at ``workdir``.

        Raises:
            FileNotFoundError: There is no such file, or it is no regular file.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file; folders above it are made.

        Raises:
            OSError: It cannot be written, for instance because the disk is full.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def changes(self) -> dict[str, bytes | None]:
        """Return what differs from ``tree``: files under ``workdir``, by relative path.

        None stands for what was deleted. Only regular files count, links and special files are left
        out, and so is ``.git``. An image's own files count as its tree.

        Raises:
            NotSupported: The back end cannot tell.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def reset(self) -> None:
        """Return to the state after :meth:`start`; also revives one that died."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """Return everything that was written, for :meth:`restore` in an equal sandbox.

        Raises:
            NotSupported: The back end cannot.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """Return to a state taken by :meth:`snapshot`."""

    @abstractmethod
    def close(self) -> None:
        """End it; may be called twice."""

    def lacks(self, program: str) -> bool:
        """Return whether commands find no program of this name.

        Raises:
            SandboxDied: The sandbox ended.
        """
        return self.exec(f"command -v {shlex.quote(program)}").exit_code != 0

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
