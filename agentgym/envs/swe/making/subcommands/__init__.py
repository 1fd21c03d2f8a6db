"""``agentgym swe``: tasks made of libraries, and the container images of published ones."""

from __future__ import annotations

from agentgym.envs.swe.making.subcommands import (
    gold_command,
    image_commands,
    push_command,
    red_team_commands,
    task_commands,
)
from agentgym.registration import Subcommand

__all__ = ["SUBCOMMANDS"]

SUBCOMMANDS = (
    Subcommand(
        "swe build",
        task_commands.Build,
        task_commands.build,
        "Make SWE tasks from libraries, and prepare published ones.",
    ),
    Subcommand("swe list", task_commands.List, task_commands.list_tasks),
    Subcommand("swe red-team", red_team_commands.RedTeam, red_team_commands.red_team),
    Subcommand("push harbor", push_command.PushHarbor, push_command.push_harbor),
    Subcommand("swe image", image_commands.ShowImage, image_commands.image),
    Subcommand("swe prefetch", image_commands.Prefetch, image_commands.prefetch),
    Subcommand("swe gold", gold_command.PrepareGold, gold_command.gold),
    Subcommand("swe cache", image_commands.Cache, image_commands.cache),
)
