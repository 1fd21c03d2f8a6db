"""``agentgym protocols``: show evaluation protocols of papers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentgym.protocols import bundled, load_protocol

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Protocols


def show(command: Protocols, console: Console) -> int:
    """List the protocols, or print the file of one."""
    if command.name:
        sys.stdout.write(load_protocol(command.name).path.read_text("utf-8"))
        return 0
    from rich.table import Table

    table = Table("name", "environments", "about")
    table.columns[0].no_wrap = True
    for name in bundled():
        protocol = load_protocol(name)
        table.add_row(name, ", ".join(protocol.setups), protocol.about)
    console.print(table)
    hint = "agentgym protocols NAME prints a protocol; a copy of it works as --protocol FILE."
    console.print(hint, markup=False)
    return 0
