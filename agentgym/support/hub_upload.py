"""Arguments and uploads of the commands ``agentgym push``, which write a folder for a hub.

Nothing is sent without ``--upload``; then the hub's own program sends it, with the user's login.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class PushArguments:
    """Common arguments of the commands that write a folder for a hub."""

    env: Positional[str]
    """Environment: a name such as webshop, or a task set such as webshop:easy."""
    out: Positional[Path]
    """Folder to write."""
    owner: str = ""
    """Your account or organization at the hub."""
    upload: bool = False
    """Also upload the folder as --owner, with the hub's own program, which asks you to log in
    there. Without this flag nothing is sent."""
    public: bool = False
    """With --upload: show it to everybody. Without this flag it is private."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""


@dataclass(frozen=True)
class HubProgram:
    """The program of a hub that uploads a folder."""

    name: str
    """Name of the program."""
    package: str
    """Package with the program, for ``pip install``."""
    upload_words: Callable[[PushArguments, str], list[str]]
    """Returns the arguments that upload a folder, from the command's and the name at the hub."""

    def check(self, arguments: PushArguments) -> None:
        """Check that an upload is possible, before anything is written.

        Raises:
            ConfigurationError: The owner or the program is missing, or ``--public`` has no effect.
        """
        if arguments.public and not arguments.upload:
            raise ConfigurationError(
                "expected --public with --upload, got it alone; nothing is sent without --upload"
            )
        if not arguments.upload:
            return
        if not arguments.owner:
            raise ConfigurationError(
                "expected --owner with --upload, got none; name your account at the hub, such as "
                "--owner my-name"
            )
        if self._path() is None:
            raise ConfigurationError(
                f"expected the program {self.name}, which uploads, got none; run: pip install "
                f"{self.package}, or leave out --upload, which only writes the folder"
            )

    def finish(self, arguments: PushArguments, name: str, console: Console) -> int:
        """Upload what was written, or print the command that does; return the exit code."""
        words = self.upload_words(arguments, name)
        line = shlex.join([self.name, *words])
        if not arguments.upload:
            owner = "" if arguments.owner else " (with your account as OWNER)"
            say(console, f"Nothing was sent. To upload it{owner}:\n  {line}")
            return 0
        say(console, f"Uploading:\n  {line}")
        code = subprocess.run([str(self._path()), *words]).returncode
        if code:
            raise ConfigurationError(
                f"expected {self.name} to upload {arguments.out}, but it ended with code {code}; "
                f"the folder is complete: repeat {line}"
            )
        return 0

    def _path(self) -> str | None:
        """Return the path of the program; beside this Python first, as it may not be in PATH."""
        folder = Path(sys.executable).parent
        return shutil.which(self.name, path=str(folder)) or shutil.which(self.name)
