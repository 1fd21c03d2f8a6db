"""``agentgym conform``: check that an environment behaves equally through all interfaces."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentgym.registration.making import parse_pairs
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Conform
    from agentgym.interop.conformance import InterfaceResult


def conform(command: Conform, console: Console) -> int:
    """Play through the interfaces, show differences, and return 1 if there are any."""
    from rich.table import Table

    from agentgym.interop.conformance import INTERFACES, conform
    from agentgym.support.progress_bars import FittedProgress

    silent = command.json or not console.is_terminal
    interfaces = command.interfaces or tuple(INTERFACES)
    with FittedProgress(console, transient=True, hidden=silent) as bar:
        bar_task = bar.begin("interfaces", len(interfaces))

        def advance(result: InterfaceResult) -> None:
            bar.advance(bar_task)

        conformance = conform(
            command.env,
            split=command.split,
            num_tasks=command.num_tasks,
            seed=command.seed,
            horizon=command.horizon,
            env_kwargs=parse_pairs(command.env_kwargs, "--env-kwargs"),
            interfaces=interfaces,
            on_interface=advance,
        )
    if command.json:
        sys.stdout.write(json.dumps(conformance.to_dict(), indent=2) + "\n")
        return int(not conformance.passed)
    table = Table("interface", "episodes", "equal", "first difference")
    for interface in conformance.interfaces:
        table.add_row(
            interface.interface, f"{interface.n}", f"{interface.equal}", cell(interface.difference)
        )
    console.print(table)
    expert = "an expert" if conformance.expert else "no expert"
    failed = f", {conformance.failed} failed" if conformance.failed else ""
    say(console, f"{conformance.env}: sha256 {conformance.sha256[:16]}, {expert}{failed}")
    return int(not conformance.passed)
