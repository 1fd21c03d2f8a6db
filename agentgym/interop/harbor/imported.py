"""``harbor:FOLDER``: tasks in the format of Harbor, played in boxes of our own.

The turns are commands and a submission; the task's own tests are the reward. Nothing of a folder is
run outside of a box, its scripts as little as what a model writes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentgym.core.options import flag, integer, text
from agentgym.envs.swe.instance_boxes import PULLING
from agentgym.interop.harbor.env import HORIZON, HarborEnv
from agentgym.interop.harbor.folder import open_folder
from agentgym.interop.harbor.resources import this_machine
from agentgym.interop.harbor.world import LONGEST_COMMAND, HarborWorld
from agentgym.interop.imported_env import share
from agentgym.sandbox.registry import check_name

__all__ = ["make"]


def make(
    reference: str,
    *,
    sandbox: str = "auto",
    command_timeout: int = 120,
    deal: bool = False,
    build: bool = False,
    background: bool = True,
    **options: Any,
) -> HarborEnv:
    """Make an environment of a folder of tasks.

    Args:
        reference: The folder of a task, or one that holds such folders.
        sandbox: Where commands run: ``auto``, or a back end of :mod:`agentgym.sandbox`.
        command_timeout: Seconds that a command may take.
        deal: Whether tasks that name no split are dealt to ``train``, ``valid`` and ``test`` by
            their names; else all of them are ``test``.
        build: Whether images that tasks need and that are not there are built from their
            Dockerfiles, by a container engine, which runs what those say.
        background: Whether processes that a command leaves running live until the tests have run,
            as in Harbor's containers, where the tests of a task with one box share it with them.
        **options: Arguments of :class:`~agentgym.interop.imported_env.ImportedEnv`.

    Raises:
        ConfigurationError: There is no task that can be played, or an argument is wrong.
    """
    env_options, unknown = share(options)
    seconds = integer(command_timeout, "command_timeout", 1, LONGEST_COMMAND)
    name = check_name(text(sandbox, "sandbox"))
    folder = open_folder(
        Path(reference).expanduser(),
        deal=flag(deal, "deal"),
        machine=this_machine() if name in ("auto", *PULLING) else None,
        sandbox=name,
    )
    world = HarborWorld(
        folder.tasks,
        name,
        seconds,
        flag(build, "build"),
        flag(background, "background"),
    )
    return HarborEnv(
        world,
        folder.task_set(),
        **{"horizon": HORIZON, **env_options, **unknown},
        notes=folder.notes(),
    )
