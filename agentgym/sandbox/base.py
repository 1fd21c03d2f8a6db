"""The interface of all sandboxes, and their configuration."""

from __future__ import annotations

import posixpath
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
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
"""Environment variables of every command, besides ``PATH`` and ``HOME``; none is inherited from the
host."""
LONGEST = 86_400
"""Maximum timeout of a command, in seconds."""


class SandboxUnavailable(NotSupported):
    """A back end cannot run on this machine; the message gives the reason and the remedy."""


class SandboxDied(EnvFailure):
    """A sandbox ended during use, caused by the commands inside."""


class SandboxLost(SandboxDied):
    """A sandbox cannot be reached, not caused by the commands inside."""


@dataclass(frozen=True)
class SandboxLimits:
    """Resource limits of a sandbox; ``capabilities`` tells which ones a back end enforces."""

    memory: int = 2 << 30
    """Memory of all processes together, in bytes. Without a cgroup, process 1 checks the sum ten
    times per second, and the kernel limits each process."""
    processes: int = 128
    """Maximum number of processes and threads."""
    disk: int = 256 << 20
    """Total bytes that can be written."""
    files: int = 20_000
    """Maximum number of new files and folders."""
    file_size: int = 64 << 20
    """Maximum size of a file, in bytes."""
    open_files: int = 512
    """Maximum number of open files of a process."""
    output: int = 50 << 20
    """Number of output bytes after which a command is killed."""
    kept_output: int = 64 << 10
    """Maximum size of the stored output, in bytes: half from its beginning, half from its end."""

    def __post_init__(self) -> None:
        """Validate the limits.

        Raises:
            ConfigurationError: A limit is not a positive integer.
        """
        for limit in fields(self):
            options.integer(getattr(self, limit.name), limit.name, 1, None)


@dataclass(frozen=True)
class SandboxConfig:
    """Initial content and permissions of a sandbox."""

    tree: Path | None = None
    """Folder that is copied to ``workdir``; the original is never written to. None: the image's
    folder, or an empty one."""
    workdir: str = "/testbed"
    """Working folder of commands."""
    image: str = ""
    """Container image of the root; if empty, the root is made of the host's ``/usr`` and
    ``visible``."""
    visible: tuple[Path, ...] = ()
    """Files and folders of the host that are readable inside, at the same path. The system's
    programs and the running Python with its standard library always are."""
    mounts: Mapping[str, Path] = field(default_factory=dict)
    """Path inside -> file or folder of the host that is readable there."""
    hidden: tuple[Path, ...] = ()
    """Files and folders of the host that are empty inside, although their parent is visible."""
    path: tuple[str, ...] = ()
    """Folders before the system's in ``PATH``."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of commands."""
    writable: tuple[str, ...] = ()
    """Writable folders inside, besides ``workdir``; snapshots contain them. They are initially
    empty, or have the image's content."""
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    """Resource limits."""
    background: bool = False
    """Whether processes that a command leaves running live until the sandbox is reset or closed, as
    services in containers do; otherwise they are killed when the command ends."""
    trusted: bool = False
    """Whether the commands are the user's own: only then may they run without isolation."""

    def __post_init__(self) -> None:
        """Validate the paths.

        Raises:
            ConfigurationError: A path inside is relative, or a path has parts such as ``..``.
        """
        further = (
            (name, place) for name in ("mounts", "writable") for place in getattr(self, name)
        )
        for name, place in (("workdir", self.workdir), *further):
            if not place.startswith("/") or posixpath.normpath(place) != place or "\0" in place:
                raise ConfigurationError(
                    f"expected an absolute path without '..' as {name}, got {place!r:.120}"
                )
        paths = {name: getattr(self, name) for name in ("visible", "hidden", "path")}
        for name, group in {**paths, "mounts": self.mounts.values()}.items():
            for path in map(str, group):
                if ".." in path.split("/") or "\0" in path:
                    raise ConfigurationError(
                        f"expected paths without '..' in {name}, got {path!r:.120}; write the "
                        "resolved path"
                    )


@dataclass(frozen=True)
class ExecResult:
    """The result of a command. A timeout is a result, too, not an error."""

    exit_code: int
    """Exit status; negative: the number of the signal that killed it."""
    output: bytes
    """Standard output and standard error, in order; if longer than ``kept_output``, its two ends
    joined by a marker."""
    truncated: int
    """Number of bytes left out of ``output``."""
    timed_out: bool
    """Whether it was killed because of its timeout."""
    flooded: bool
    """Whether it was killed for printing more than ``SandboxLimits.output``."""
    killed: int
    """Number of leftover processes that were killed."""
    seconds: float
    """Wall time, in seconds."""
    exhausted: bool = False
    """Whether it, or a process that it started, was killed for using more memory than
    ``SandboxLimits.memory``, as far as the back end can tell."""
    running: int = 0
    """Number of processes, of all commands so far, that still run in the background."""

    @property
    def text(self) -> str:
        """The output as text; bytes that are not UTF-8 are replaced."""
        return self.output.decode("utf-8", "replace")


def check_timeout(timeout: float) -> float:
    """Return a valid timeout of a command, in seconds.

    Raises:
        ConfigurationError: It is not above 0, not finite, or above :data:`LONGEST`.
    """
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not 0 < timeout <= LONGEST:
        raise ConfigurationError(
            f"expected a timeout above 0 and up to {LONGEST} seconds, got {timeout!r:.60}"
        )
    return timeout


class Sandbox(ABC):
    """A sandbox runs commands isolated from the host; it has one user at a time.

    Processes that a command leaves running are killed, so nothing runs between two commands, unless
    ``config.background`` says otherwise. Hence files are its only state, and :meth:`snapshot`
    contains all of it. Closing a sandbox, or the end of the process that made it, for any reason,
    ends everything inside.

    Args:
        config: Initial content and permissions.
    """

    isolation: ClassVar[str]
    """``"none"``, ``"namespace"``, ``"container"`` or ``"remote"``."""
    images: ClassVar[bool] = False
    """Whether it supports ``config.image``."""

    def __init__(self, config: SandboxConfig) -> None:
        self.config = config

    @classmethod
    def probe(cls) -> str:
        """Return why this machine cannot run it, and the remedy; empty if it can."""
        return ""

    @classmethod
    def holds(cls, image: str) -> bool:
        """Return whether the back end has an image without pulling it."""
        return False

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]:
        """Features and enforced limits on this machine.

        ``"snapshot"``, ``"network"`` (the sandbox has no network), ``"memory"`` (limit of all
        processes together), ``"processes"``, ``"disk"``, ``"files"``.
        """

    @abstractmethod
    def start(self) -> Self:
        """Start the sandbox, if it is not running.

        Raises:
            SandboxUnavailable: This machine cannot run it.
            ConfigurationError: The back end does not support the configuration.
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
            timeout: Seconds after which the command and all processes that it started are killed;
                background processes of earlier commands continue.
            cwd: Working folder; ``workdir`` if left out.
            env: Variables in addition to the configuration's.

        Raises:
            ConfigurationError: ``timeout`` is out of range.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes:
        """Return the beginning of a regular file; relative paths start at ``workdir``.

        Raises:
            FileNotFoundError: The file does not exist or is not a regular file.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file, and create its parent folders.

        Raises:
            OSError: The file cannot be written, for instance because the disk is full.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def changes(self) -> dict[str, bytes | None]:
        """Return the files under ``workdir`` that differ from ``tree``, by relative path.

        Deleted files are None. Links, special files and ``.git`` are left out. The files of an
        image are treated as its tree.

        Raises:
            NotSupported: The back end does not support it.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def reset(self) -> None:
        """Return to the state after :meth:`start`, even if the sandbox has died."""

    @abstractmethod
    def snapshot(self) -> bytes:
        """Return all changes, for :meth:`restore` in an equal sandbox.

        Raises:
            NotSupported: The back end does not support it, or processes run in the background.
            SandboxDied: The sandbox ended.
        """

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """Return to a state taken by :meth:`snapshot`."""

    @abstractmethod
    def close(self) -> None:
        """Close the sandbox; may be called twice."""

    def lacks(self, program: str) -> bool:
        """Return whether the sandbox lacks a program of this name.

        Raises:
            SandboxDied: The sandbox ended.
        """
        return self.exec(f"command -v {shlex.quote(program)}").exit_code != 0

    def __enter__(self) -> Self:
        """Start it."""
        return self.start()

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()
