"""Run commands as plain processes of this machine, for the user's own commands only."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from agentgym.errors import ConfigurationError
from agentgym.sandbox import pid1
from agentgym.sandbox.base import ExecResult, SandboxConfig, SandboxUnavailable
from agentgym.sandbox.channel import Channel, SocketStream
from agentgym.sandbox.owners import is_gone, this_process
from agentgym.sandbox.served import LAST_WAIT, ServedSandbox

PREFIX = "agentgym-box-"
OWNER = "owner"
"""File with the owner of a folder, so that another process can remove it after the owner's end."""


class UnisolatedSandbox(ServedSandbox):
    """No isolation: commands have this user's permissions on files and network.

    Only the task's folders are like in the other sandboxes: a private copy of the tree, a home and
    a folder for temporary files, which are removed at the end.

    Args:
        config: Initial content; ``visible`` and ``hidden`` have no effect.

    Raises:
        SandboxUnavailable: The configuration does not trust the commands.
    """

    isolation: ClassVar[str] = "none"

    def __init__(self, config: SandboxConfig) -> None:
        if not config.trusted:
            raise SandboxUnavailable(
                "expected a back end that keeps commands apart from this machine, got 'subprocess'"
                ", which does not; use another, or set trusted=True if every command is your own"
            )
        warnings.warn(
            "commands run without any isolation: they can read, change and delete what you can, "
            "and reach the network; use a back end that isolates for commands of a model",
            RuntimeWarning,
            stacklevel=3,
        )
        super().__init__(config)
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def probe(cls) -> str:
        """Return why it cannot run on this machine; empty if it can."""
        return "" if os.name == "posix" else f"expected a POSIX system, got {sys.platform}"

    @property
    def capabilities(self) -> frozenset[str]:
        """Only snapshots: no limit is enforced."""
        return frozenset({"snapshot"})

    @property
    def workdir(self) -> str:
        """Working folder of commands: in a temporary folder, not at the configured path."""
        return f"{self._folder}/work"

    @property
    def home(self) -> str:
        """The home folder of commands."""
        return f"{self._folder}/home"

    @property
    def places(self) -> tuple[str, ...]:
        """Folders that belong to it besides ``workdir``."""
        return (f"{self._folder}/tmp", self.home)

    def _launch(self) -> Channel:
        """Make the folders and start the server as a child process."""
        reason = self.probe()
        if reason:
            raise SandboxUnavailable(reason)
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        (self._folder / OWNER).write_text(this_process())
        tree = self.config.tree
        if tree is not None and not tree.is_dir():
            raise ConfigurationError(f"expected a folder as tree, got {tree}")
        if tree is None:
            os.mkdir(self.workdir)
        else:
            shutil.copytree(tree, self.workdir, symlinks=True)
        near, far = socket.socketpair()
        with far:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", pid1.__file__],
                stdin=far.fileno(),
                stdout=far.fileno(),
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )
        return Channel(SocketStream(near))

    def _settings(self) -> dict[str, Any]:
        """Return the settings for the server, with the folder for temporary files."""
        settings = super()._settings()
        settings["environment"] = {"TMPDIR": self.places[0], **settings["environment"]}
        return settings

    def _rlimits(self) -> dict[str, int]:
        """Return the limits of each process; their number would count all processes of the user."""
        limits = self.config.limits
        rlimits = {"FSIZE": limits.file_size, "NOFILE": limits.open_files, "CORE": 0}
        # On other systems the limit cannot be lower than the interpreter's mapped memory.
        return {**rlimits, "AS": limits.memory} if sys.platform.startswith("linux") else rlimits

    def exec(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run a command line and wait for its end."""
        return super().exec(command, timeout=timeout, cwd=self._real(cwd or ""), env=env)

    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes:
        """Return the beginning of a regular file."""
        return super().read(self._real(path), max_bytes)

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file; folders above it are made."""
        super().write(self._real(path), content, mode)

    def _real(self, path: str) -> str:
        """Return the real location of a path below the configured ``workdir``."""
        configured = self.config.workdir
        inside = path == configured or path.startswith(configured + "/")
        return self.workdir + path[len(configured) :] if inside else path

    def _dispose(self) -> None:
        """Wait for the end of the server and remove the folders."""
        process, self._process = self._process, None
        folder, self._folder = self._folder, None
        if process is not None:
            try:
                process.wait(LAST_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _sweep() -> None:
    """Remove the folders that dead owners left behind."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.getuid() and is_gone((folder / OWNER).read_text()):
                shutil.rmtree(folder, ignore_errors=True)
