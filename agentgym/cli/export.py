"""``agentgym export``: write recorded episodes in another format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentgym.cli.arguments import Export
from agentgym.cli.record_files import episodes_file, progress, say, torn_note
from agentgym.conversation import Prompt
from agentgym.core.env import TextEnv
from agentgym.errors import ConfigurationError
from agentgym.protocols import find_prompt
from agentgym.trust import trusting_env

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.episodes import ChatOptions


def export(command: Export, console: Console) -> int:
    """Run the command."""
    from agentgym.episodes.exporter import export as write

    if command.min_score is not None and not 0 <= command.min_score <= 1:
        raise ConfigurationError(
            f"expected --min-score to be a score from 0 to 1, got {command.min_score}"
        )
    options = _chats(command)
    file = episodes_file(command.file)
    with (
        trusting_env(command.env),
        progress(file, console, "exporting", silent=command.json) as advance,
    ):
        report = write(
            file,
            command.out,
            command.to,
            chats=options,
            prompt_at=_prompt_at(command.prompt),
            only_successes=command.only_successes,
            min_score=command.min_score,
            on_episode=advance,
        )
    if command.json:
        sys.stdout.write(json.dumps(vars(report), indent=2) + "\n")
        return 0
    text = f"{report.exported:,} episodes written to {command.out} in {report.rows:,} rows"
    if report.left_out:
        reasons = "; ".join(f"{why}: {n:,}" for why, n in report.left_out.items())
        text += f", {report.left_out.total():,} left out ({reasons})"
    say(console, f"{text}.{torn_note(report.torn)}")
    return 0


def _chats(command: Export) -> ChatOptions | None:
    """Return how conversations are made; None for tables.

    Raises:
        ConfigurationError: A table was asked for with options of conversations.
    """
    from agentgym.episodes import ChatOptions

    options = ChatOptions(command.text, command.rows, command.valid_actions_only)
    if command.to == "sft":
        return options
    if options != ChatOptions() or (command.prompt is not None and command.to != "agenttraj"):
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
