"""``agentgym push harbor``: write SWE tasks as a dataset of Harbor, and upload it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentgym.core.options import integer
from agentgym.errors import ConfigurationError
from agentgym.support.hub_upload import HubProgram, PushArguments
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class PushHarbor(PushArguments):
    """Write SWE tasks as a dataset of Harbor: a folder for each task, and a manifest.

    Tasks that the folder already holds are kept.
    """

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


def _words(arguments: PushArguments, name: str) -> list[str]:
    return ["publish", str(arguments.out), *(["--public"] if arguments.public else [])]


HARBOR = HubProgram("harbor", "harbor", _words)
"""Uploads to Harbor's hub."""


def push_harbor(command: PushHarbor, console: Console) -> int:
    """Write the folders and the manifest.

    Raises:
        ConfigurationError: The environment is not SWE, or an option is invalid.
    """
    from agentgym.envs.swe.env import SWEEnv
    from agentgym.envs.swe.making.harbor.dataset import write_manifest
    from agentgym.envs.swe.making.harbor.folders import OWNER, FolderOptions, write_folders
    from agentgym.registration.making import make_asked, resolve
    from agentgym.support.progress_bars import FittedProgress

    HARBOR.check(command)
    owner, name = command.owner or OWNER, resolve(command.env).short
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
                options=FolderOptions(command.image, owner),
                watch=lambda done, total: bar.update(bar_task, completed=done, total=total),
            )
        write_manifest(command.out, f"{owner}/{name}", "Repair a repository: SWE of agentgym.")
    finally:
        env.close()
    if command.json:
        sys.stdout.write(
            json.dumps({"written": written_count, "there": existing_count}, indent=2) + "\n"
        )
        return HARBOR.finish(command, name, console) if command.upload else 0
    existing_note = f", {existing_count:,} were there" if existing_count else ""
    say(
        console,
        f"{written_count:,} tasks written to {command.out}{existing_note}. Play them:\n"
        f"  harbor run -p {command.out} -a oracle --env "
        "agentgym.interop.harbor:NamespaceEnvironment",
    )
    return HARBOR.finish(command, name, console)
