"""``agentgym conform``: whether an environment is the same world through each of its doors."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentgym.making import parse_pairs
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.adapters.conformance import DoorResult
    from agentgym.cli.arguments import Conform


def conform(command: Conform, console: Console) -> int:
    """Play through the doors, show what differs, and return 1 if anything does."""
    from rich.progress import Progress
    from rich.table import Table

    from agentgym.adapters.conformance import DOORS, conform

    silent = command.json or not console.is_terminal
    doors = command.doors or tuple(DOORS)
    with Progress(console=console, transient=True, disable=silent) as bar:
        shown = bar.add_task("doors", total=len(doors))

        def tried(result: DoorResult) -> None:
            bar.advance(shown)

        found = conform(
            command.env,
            split=command.split,
            n=command.n,
            seed=command.seed,
            horizon=command.horizon,
            env_kwargs=parse_pairs(command.set, "--set"),
            doors=doors,
            on_door=tried,
        )
    if command.json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2) + "\n")
        return int(not found.passed)
    table = Table("door", "episodes", "equal", "first difference")
    for door in found.doors:
        table.add_row(door.door, f"{door.n}", f"{door.equal}", cell(door.difference))
    console.print(table)
    expert = "an expert" if found.expert else "no expert"
    failed = f", {found.failed} failed" if found.failed else ""
    say(console, f"{found.env}: sha256 {found.sha256[:16]}, {expert}{failed}")
    return int(not found.passed)
