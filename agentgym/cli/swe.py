"""``agentgym swe ...``: SWE tasks made and held."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentgym.cli.arguments import SweBuild

if TYPE_CHECKING:
    from rich.console import Console


def swe(command: Any, console: Console) -> int:
    """Carry out a subcommand of ``agentgym swe``."""
    return _COMMANDS[type(command)](command, console)


def build(command: SweBuild, console: Console) -> int:
    """Make tasks from libraries, and say what came of it."""
    raise NotImplementedError


_COMMANDS: dict[type, Callable[[Any, Console], int]] = {SweBuild: build}
