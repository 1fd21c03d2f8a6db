"""``agentgym export``: write recorded episodes in another format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import Export
from agentgym.cli.record_files import episodes_file, progress, say, torn_note
from agentgym.conversation import Prompt
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError
from agentgym.protocols import find_prompt
from agentgym.registration.making import parse_pairs
from agentgym.trust import trusting_env

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.episodes import ChatOptions, Episode


def export(command: Export, console: Console) -> int:
    """Run the command."""
    from agentgym.episodes.exporter import export as write

    if command.min_score is not None and not 0 <= command.min_score <= 1:
        raise ConfigurationError(
            f"expected --min-score to be a score from 0 to 1, got {command.min_score}"
        )
    options = _chats(command)
    kwargs = parse_pairs(command.env_kwargs, "--env-kwargs")
    path = Path(command.source)
    of_tasks = command.to == "prompts" and not path.exists()
    _check_tasks(command, of_tasks)
    named, arguments = (command.source, kwargs) if of_tasks else (command.env, {})
    with (
        trusting_env(named, arguments),
        progress(path, console, "exporting", silent=command.json) as advance,
    ):
        report = write(
            _episodes(command, kwargs) if of_tasks else _in_file(path),
            command.out,
            command.to,
            env=named or "",
            prompt=command.prompt or "",
            chats=options,
            prompt_at=_prompt_at(command.prompt),
            only_successes=command.only_successes,
            min_score=command.min_score,
            on_episode=advance,
        )
    if command.json:
        sys.stdout.write(json.dumps(vars(report), indent=2) + "\n")
        return 0
    content_kind = "tasks" if of_tasks else "episodes"
    text = f"{report.exported:,} {content_kind} written to {command.out} in {report.rows:,} rows"
    if report.left_out:
        reasons = "; ".join(f"{why}: {n:,}" for why, n in report.left_out.items())
        text += f", {report.left_out.total():,} left out ({reasons})"
    say(console, f"{text}.{torn_note(report.torn)}")
    return 0


def _check_tasks(command: Export, of_tasks: bool) -> None:
    """Raise an error if flags about the tasks of an environment go with a file.

    Raises:
        ConfigurationError: They do.
    """
    flags = (command.split, command.num_tasks, command.seed, command.env_kwargs)
    if not of_tasks and flags != (Export.split, Export.num_tasks, Export.seed, Export.env_kwargs):
        raise ConfigurationError(
            "expected --split, --num-tasks, --seed and --env-kwargs with --to prompts and the name "
            f"of an environment only, got --to {command.to} and {command.source}"
        )


def _episodes(command: Export, kwargs: Mapping[str, Any]) -> Iterator[Episode]:
    """Return the tasks of an environment as episodes without turns."""
    from agentgym.interop.prompt_rows import unplayed_episodes

    return unplayed_episodes(
        command.source,
        split=command.split,
        num_tasks=command.num_tasks,
        seed=command.seed,
        prompt=command.prompt or "default",
        **kwargs,
    )


def _in_file(path: Path) -> Path | Iterator[Episode]:
    """Return the file of episodes at a path, or the episodes of its conversations."""
    from agentgym.interop.played_rows import has_tasks, play_rows

    return play_rows(path) if has_tasks(path) else episodes_file(path)


def _chats(command: Export) -> ChatOptions | None:
    """Return how conversations are made; None for tables.

    Raises:
        ConfigurationError: A table was asked for with options of conversations.
    """
    from agentgym.episodes import ChatOptions

    options = ChatOptions(command.text, command.rows, command.valid_actions_only)
    if command.to == "sft":
        return options
    if options != ChatOptions() or (
        command.prompt is not None and command.to not in ("agenttraj", "prompts")
    ):
        raise ConfigurationError(
            f"expected --text, --rows, --valid-actions-only and --prompt with --to sft only, got "
            f"--to {command.to}, which holds every turn with all of its texts"
        )
    return None


def _prompt_at(name: str | None) -> Callable[[TextEnv], Prompt]:
    """Return a function that returns the named prompt for an environment."""
    if name is None:
        return Prompt.at

    def prompt_at(env: TextEnv) -> Prompt:
        return find_prompt(name, env.spec.id if env.spec else type(env).__name__).at(env)

    return prompt_at
