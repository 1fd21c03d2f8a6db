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
    from agentgym.support.http_server import warning_of

    given = os.environ.get(TOKEN, "")
    if warning := warning_of(command.host, "play here"):
        say(console, warning)

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
