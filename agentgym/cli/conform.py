"""``agentgym conform``: check that an environment behaves equally through all interfaces."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentgym.making import parse_pairs
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.adapters.conformance import InterfaceResult
    from agentgym.cli.arguments import Conform


def conform(command: Conform, console: Console) -> int:
    """Play through the interfaces, show differences, and return 1 if there are any."""
    from rich.table import Table

    from agentgym.adapters.conformance import INTERFACES, conform
    from agentgym.support.progress_bars import FittedProgress

    silent = command.json or not console.is_terminal
    interfaces = command.interfaces or tuple(INTERFACES)
    with FittedProgress(console, transient=True, hidden=silent) as bar:
        shown = bar.begin("interfaces", len(interfaces))

        def tried(result: InterfaceResult) -> None:
            bar.advance(shown)

        found = conform(
            command.env,
            split=command.split,
            num_tasks=command.num_tasks,
            seed=command.seed,
            horizon=command.horizon,
            env_kwargs=parse_pairs(command.env_kwargs, "--env-kwargs"),
            interfaces=interfaces,
            on_interface=tried,
        )
    if command.json:
        sys.stdout.write(json.dumps(found.to_dict(), indent=2) + "\n")
        return int(not found.passed)
    table = Table("interface", "episodes", "equal", "first difference")
    for interface in found.interfaces:
        table.add_row(
            interface.interface, f"{interface.n}", f"{interface.equal}", cell(interface.difference)
        )
    console.print(table)
    expert = "an expert" if found.expert else "no expert"
    failed = f", {found.failed} failed" if found.failed else ""
    say(console, f"{found.env}: sha256 {found.sha256[:16]}, {expert}{failed}")
    return int(not found.passed)
