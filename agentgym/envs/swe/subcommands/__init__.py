"""``agentgym swe``: tasks made of libraries, and the container images of published ones."""

from __future__ import annotations

from agentgym.envs.swe.subcommands import images, tasks
from agentgym.registration import Subcommand

__all__ = ["SUBCOMMANDS"]

SUBCOMMANDS = (
    Subcommand(
        "swe build",
        tasks.Build,
        tasks.build,
        "Make and hold SWE tasks: agentgym swe build --help.",
    ),
    Subcommand("swe list", tasks.List, tasks.list_tasks),
    Subcommand("swe image", images.ShowImage, images.image),
    Subcommand("swe prefetch", images.Prefetch, images.prefetch),
    Subcommand("swe cache", images.Cache, images.cache),
)
