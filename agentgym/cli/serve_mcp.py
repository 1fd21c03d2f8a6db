"""``agentgym serve mcp``: an environment as tools for agents that speak MCP."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from agentgym.cli.arguments import ServeMcp
from agentgym.making import make_asked
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

TOKEN = "AGENTGYM_MCP_TOKEN"
"""Variable that holds the token, where the person chose one."""


def serve(command: ServeMcp, console: Console) -> int:
    """Answer the process that started this one, or clients over HTTP until interrupted."""
    from agentgym.adapters.mcp_transports import serve, serve_stdio
    from agentgym.support.http_server import warning_of

    make = partial(make_asked, command.env, command.set, "--set", "tool_call")
    if not command.http:
        serve_stdio(make, command.env)
        return 0
    given = os.environ.get(TOKEN, "")
    if warning := warning_of(command.host, "play here"):
        say(console, warning)

    def started(url: str, token: str) -> None:
        shown = f"token: {f'the one in {TOKEN}' if given else token}" if token else "no token"
        say(console, f"{command.env} is at {url}; {shown}\npress Ctrl-C to stop")

    serve(
        make,
        name=command.env,
        host=command.host,
        port=command.port,
        token=given,
        open_to_all=command.open,
        most=command.most,
        idle=command.idle,
        started=started,
    )
    return 0
