"""``agentgym serve sandbox``: sandboxes for environments on other machines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentgym.cli.arguments import ServeSandbox
from agentgym.errors import ConfigurationError
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

GIGABYTE = 1 << 30


def serve(command: ServeSandbox, console: Console) -> int:
    """Serve sandboxes to clients until interrupted."""
    from agentgym.sandbox.remote.client import URL
    from agentgym.sandbox.remote.leased_boxes import LeaseBounds
    from agentgym.sandbox.remote.messages import TOKEN
    from agentgym.sandbox.remote.server import serve
    from agentgym.support.http_server import warning_of

    env_token = os.environ.get(TOKEN, "")
    if warning := warning_of(command.host, "run commands in sandboxes here"):
        say(console, warning)

    def started(url: str, token: str) -> None:
        token_text = f"the one in {TOKEN}" if env_token else token
        say(
            console,
            f"sandboxes are at {url}; token: {token_text}\n"
            f"set {URL} and {TOKEN} where the environments run; press Ctrl-C to stop",
        )

    serve(
        sandbox=command.sandbox,
        host=command.host,
        port=command.port,
        token=env_token,
        max_sandboxes=command.max_sandboxes,
        idle_timeout=command.idle_timeout,
        visible=command.visible,
        bounds=LeaseBounds(
            _bytes(command.max_memory, "--max-memory"),
            command.max_processes,
            _bytes(command.max_disk, "--max-disk"),
            command.max_files,
            command.max_seconds,
        ),
        started=started,
    )
    return 0


def _bytes(gigabytes: float, flag: str) -> int:
    """Return a number of GiB in bytes."""
    if not 0 < gigabytes < float("inf"):
        raise ConfigurationError(f"expected {flag} to be a number of GiB, got {gigabytes}")
    return round(gigabytes * GIGABYTE)
