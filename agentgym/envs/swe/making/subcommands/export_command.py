"""``agentgym swe export``: write SWE tasks as folders for Harbor."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.core.options import integer
from agentgym.errors import ConfigurationError
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class ExportTasks:
    """Write SWE tasks as folders for Harbor."""

    out: Positional[Path]
    """Folder to write; existing tasks in it are kept."""
    env: str = "swe"
    """Environment whose tasks are written."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, such as data=FOLDER."""
    split: str | None = None
    """Only tasks of this split."""
    num_tasks: int | None = None
    """Number of tasks of each split, drawn by --seed. None: all of them."""
    seed: int = 0
    """Seed of the draw."""
    image: str = ""
    """Base image of the tasks, with Python 3.10, git and pytest 8 or later. Without it, the Docker
    Hub image of this Python version, with git and pytest installed."""
    json: bool = False
    """Print JSON."""


def export_tasks(command: ExportTasks, console: Console) -> int:
    """Write the folders.

    Raises:
        ConfigurationError: The environment is not SWE, or an option is invalid.
    """
    from agentgym.envs.swe.env import SWEEnv
    from agentgym.envs.swe.making.harbor.folders import FolderOptions, write_folders
    from agentgym.registration.making import make_asked
    from agentgym.support.progress_bars import FittedProgress

    count = None if command.num_tasks is None else integer(command.num_tasks, "--num-tasks", 1)
    env = make_asked(command.env, command.env_kwargs, "--env-kwargs")
    try:
        if not isinstance(env, SWEEnv):
            raise ConfigurationError(
                f"expected an environment of SWE, such as swe, got {command.env!r:.80}: tasks of "
                "other families have no tests that Harbor could run"
            )
        with FittedProgress(console, transient=True) as bar:
            bar_task = bar.begin("writing tasks", None)
            written_count, existing_count = write_folders(
                env,
                command.out,
                split=command.split,
                num_tasks=count,
                seed=command.seed,
                options=FolderOptions(command.image),
                watch=lambda done, total: bar.update(bar_task, completed=done, total=total),
            )
    finally:
        env.close()
    if command.json:
        sys.stdout.write(
            json.dumps({"written": written_count, "there": existing_count}, indent=2) + "\n"
        )
        return 0
    existing_note = f", {existing_count:,} were there" if existing_count else ""
    say(
        console,
        f"{written_count:,} tasks written to {command.out}{existing_note}. Play them: harbor run "
        f"-p {command.out} -a oracle --env agentgym.interop.harbor:NamespaceEnvironment",
    )
    return 0
