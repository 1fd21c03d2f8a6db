"""``agentgym replay``: verify that recorded episodes replay identically, or rescore them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentgym.cli.record_files import episodes_file, progress, say, torn_note
from agentgym.errors import ConfigurationError
from agentgym.registration.making import parse_pairs, resolve
from agentgym.support.terminal import cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentgym.cli.arguments import Replay
    from agentgym.episodes import FileReplay


def replay(command: Replay, console: Console) -> int:
    """Run the command; return 1 if an episode has changed."""
    from agentgym.episodes import FileRescore

    if command.env is not None:
        resolve(command.env)  # raises before the file is read
    flags = {
        "--reward-hooks": command.reward_hooks,
        "--env-kwargs": command.env_kwargs,
        "--out": command.out,
    }
    unused = [flag for flag, value in flags.items() if value]
    if unused and not command.rescore:
        raise ConfigurationError(
            f"expected --rescore with {', '.join(unused)}, got a replay, which computes no new "
            "rewards: add --rescore"
        )
    result = _run_replay(command, console)
    if command.json:
        sys.stdout.write(json.dumps(result.to_dict(), indent=2) + "\n")
        return int(bool(result.changes))
    # Without a rescored episode there are no means to compare.
    if isinstance(result, FileRescore) and result.equal:
        console.print(_table(result.before, result.after))
    for change in result.changes:
        say(console, f"episode {change.episode} ({change.task_id}): {change.difference}")
    say(console, f"{result}{torn_note(result.torn)}")
    return int(bool(result.changes))


def _run_replay(command: Replay, console: Console) -> FileReplay:
    """Play or rescore the episodes, under a progress bar."""
    from agentgym.episodes import replay_file, rescore_file
    from agentgym.rewards import parse_hooks

    file = episodes_file(command.file)
    action = "rescoring" if command.rescore else "playing again"
    hooks, settings = (
        parse_hooks(command.reward_hooks),
        parse_pairs(command.env_kwargs, "--env-kwargs"),
    )
    with progress(
        file, console, action, silent=command.json, max_episodes=command.max_episodes
    ) as advance:
        options: dict[str, Any] = {
            "env": command.env,
            "max_episodes": command.max_episodes,
            "workers": command.workers,
            "on_episode": advance,
        }
        if not command.rescore:
            return replay_file(file, **options)
        return rescore_file(file, hooks, settings, out=command.out, **options)


def _table(old_means: Mapping[str, Any], new_means: Mapping[str, Any]) -> Table:
    """Compare the means per episode."""
    from rich.table import Table

    table = Table("mean of an episode", "before", "after")
    for name in ("return", "score", "success"):
        table.add_row(
            name, *("" if m[name] is None else f"{m[name]:.4f}" for m in (old_means, new_means))
        )
    table.add_section()
    means = old_means["terms"], new_means["terms"]
    for name in dict.fromkeys(name for terms in means for name in terms):
        cells = [f"{terms[name]:.4f}" if name in terms else "" for terms in means]
        table.add_row(cell(f"term {name}"), *cells)
    if "unjudged" in old_means or "unjudged" in new_means:
        counts = (str(means.get("unjudged", 0)) for means in (old_means, new_means))
        table.add_row("episodes without a verdict", *counts)
    return table
