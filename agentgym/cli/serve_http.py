"""``agentgym serve http``: an environment for programs in any language."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from agentgym.cli.arguments import ServeHttp
from agentgym.making import make_asked
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

TOKEN = "AGENTGYM_HTTP_TOKEN"
"""Variable that holds the token, where the person chose one."""


def serve(command: ServeHttp, console: Console) -> int:
    """Hold environments for clients until interrupted."""
    from agentgym.adapters.http_server import serve
    from agentgym.support.http_server import is_loopback

    given = os.environ.get(TOKEN, "")
    if not is_loopback(command.host):
        say(
            console,
            f"warning: host {command.host} lets every machine that reaches this one and knows the "
            "token play here; nothing that is sent is encrypted, not even the token: use a private "
            "network or an SSH tunnel",
        )

    def started(url: str, token: str) -> None:
        shown = f"token: {f'the one in {TOKEN}' if given else token}" if token else "no token"
        say(console, f"{command.env} is at {url}; {shown}\npress Ctrl-C to stop")

    serve(
        partial(make_asked, command.env, command.set, "--set", command.grammar),
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
