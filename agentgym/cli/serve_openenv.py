"""``agentgym serve openenv``: an environment for trainers that play OpenEnv's servers."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from agentgym.cli.arguments import ServeOpenEnv
from agentgym.making import make_asked, resolve
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

TOKEN = "AGENTGYM_OPENENV_TOKEN"
"""Variable that holds the token, where the person chose one."""


def serve(command: ServeOpenEnv, console: Console) -> int:
    """Hold environments for clients until interrupted, or write a folder that does."""
    from agentgym.support.http_server import warning_of

    make = partial(make_asked, command.env, command.set, "--set", command.grammar)
    name = resolve(command.env)[0]
    if command.folder is not None:
        from agentgym.adapters.openenv_folder import write_folder

        write_folder(command.folder, command.env, command.set, command.grammar)
        say(console, f"wrote {command.folder}: openenv validate {command.folder}")
        return 0
    from agentgym.adapters.openenv_server import serve

    given = os.environ.get(TOKEN, "")
    if warning := warning_of(command.host, "play here"):
        say(console, warning)

    def started(url: str, token: str) -> None:
        shown = f"token: {f'the one in {TOKEN}' if given else token}" if token else "no token"
        say(console, f"{command.env} is at {url}; {shown}\npress Ctrl-C to stop")

    serve(
        make,
        name=name,
        host=command.host,
        port=command.port,
        token=given,
        open_to_all=command.open,
        most=command.most,
        idle=command.idle,
        started=started,
    )
    return 0
