"""``agentgym serve http``, ``mcp`` and ``openenv``: serve an environment to other programs."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from agentgym.cli.arguments import ServeEnv, ServeHttp, ServeMcp, ServeOpenEnv
from agentgym.registration.making import make_asked, resolve
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.interop.served_envs import ServerOptions

TOKEN = "AGENTGYM_{}_TOKEN"
"""Environment variables with a user-defined token, by kind of server."""


def serve_http(command: ServeHttp, console: Console) -> int:
    """Hold environments for clients until interrupted."""
    from agentgym.interop.http_server import serve

    make = partial(make_asked, command.env, command.env_kwargs, "--env-kwargs", command.grammar)
    serve(make, command.env, _options(command, "HTTP", console))
    return 0


def serve_mcp(command: ServeMcp, console: Console) -> int:
    """Serve the parent process, or clients over HTTP until interrupted."""
    from agentgym.interop.mcp.transports import serve, serve_stdio

    make = partial(make_asked, command.env, command.env_kwargs, "--env-kwargs", "tool_call")
    if command.http:
        serve(make, command.env, _options(command, "MCP", console))
    else:
        serve_stdio(make, command.env)
    return 0


def serve_openenv(command: ServeOpenEnv, console: Console) -> int:
    """Serve environments to clients until interrupted."""
    from agentgym.interop.openenv.server import serve

    make = partial(make_asked, command.env, command.env_kwargs, "--env-kwargs", command.grammar)
    serve(make, resolve(command.env).short, _options(command, "OPENENV", console))
    return 0


def _options(command: ServeEnv, kind: str, console: Console) -> ServerOptions:
    """Return the server's options; prints who can reach it and, when it runs, its address."""
    from agentgym.interop.served_envs import ServerOptions
    from agentgym.support.http_server import warning_of

    variable = TOKEN.format(kind)
    env_token = os.environ.get(variable, "")
    if warning := warning_of(command.host, "play here"):
        say(console, warning)

    def started(url: str, token: str) -> None:
        token_text = (
            f"token: {f'the one in {variable}' if env_token else token}" if token else "no token"
        )
        say(console, f"{command.env} is at {url}; {token_text}\npress Ctrl-C to stop")

    return ServerOptions(
        host=command.host,
        port=command.port,
        token=env_token,
        open_to_all=not command.token,
        max_envs=command.max_envs,
        idle_timeout=command.idle_timeout,
        started=started,
    )
