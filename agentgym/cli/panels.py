"""``agentgym panels export``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentgym.registration.making import parse_pairs
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.leaderboard_arguments import ExportPanel


def export(command: ExportPanel, console: Console) -> int:
    """Write a panel for other projects."""
    from agentgym.interop.field_panels import export_panel

    exported = export_panel(
        command.env,
        command.out,
        split=command.split,
        num_tasks=command.num_tasks,
        seed=command.seed,
        **parse_pairs(command.env_kwargs, "--env-kwargs"),
    )
    panel = exported.panel
    if command.json:
        facts = {
            "panel_sha256": panel.sha256, "num_tasks": len(panel), "files": exported.files,
            "left_out": dict(exported.left_out),
        }  # fmt: skip
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return 0
    say(console, f"{len(panel):,} tasks, panel {panel.sha256}")
    for name in exported.files:
        say(console, str(command.out / name))
    for name, reason in exported.left_out.items():
        say(console, f"without {name}: {reason}")
    return 0
