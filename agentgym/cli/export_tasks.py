"""``agentgym export --to harbor``: write SWE tasks as folders for Harbor."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentgym.cli.arguments import Export
from agentgym.cli.record_files import say
from agentgym.core.options import integer
from agentgym.errors import ConfigurationError
from agentgym.registration.making import make_asked

if TYPE_CHECKING:
    from rich.console import Console


def export_tasks(command: Export, console: Console) -> int:
    """Run the command.

    Raises:
        ConfigurationError: The environment is not SWE, or an option applies only to episodes.
    """
    from agentgym.envs.swe.env import SWEEnv
    from agentgym.envs.swe.making.harbor.folders import FolderOptions, write_folders
    from agentgym.support.progress_bars import FittedProgress

    if command.only_successes or command.min_score is not None or command.prompt is not None:
        raise ConfigurationError(
            "expected --only-successes, --min-score and --prompt with recorded episodes, got --to "
            "harbor, which writes tasks"
        )
    count = None if command.num_tasks is None else integer(command.num_tasks, "--num-tasks", 1)
    env = make_asked(str(command.file), command.env_kwargs, "--env-kwargs")
    try:
        if not isinstance(env, SWEEnv):
            raise ConfigurationError(
                f"expected an environment of SWE, such as swe, got {str(command.file)!r:.80}: "
                "tasks of other families have no tests that Harbor could run"
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
