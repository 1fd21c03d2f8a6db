"""``agentgym serve webshop``: a shop for a person in the browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.registration import Subcommand
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.envs.webshop.env import WebShopEnv


@dataclass(frozen=True)
class ServeShop:
    """Shop in the browser yourself, on this machine."""

    env: Positional[str] = "webshop"
    """Environment: webshop, or the id or MODULE:ID of a WebShop of your own."""
    split: str = "train"
    """Split of the first task."""
    seed: int = 0
    """Seed of the episodes; it selects the first task."""
    record: Path | None = None
    """Append every finished episode to this JSONL file."""
    open: bool = False
    """Open the page in the browser."""
    host: str = "127.0.0.1"
    """Address to listen on; it must be local to this machine."""
    port: int = 8010
    """Port to listen on; 0 selects a free one."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""


def serve(command: ServeShop, console: Console) -> int:
    """Serve the shop until interrupted."""
    from agentgym.envs.webshop.browser import Visits, serve

    def started(url: str) -> None:
        recording = "nothing is recorded (--record FILE)"
        if command.record is not None:
            recording = f"finished episodes are appended to {command.record}"
        say(console, f"shop at {url}\n{recording}; press Ctrl-C to stop")
        if command.open:
            import webbrowser

            webbrowser.open(url)

    visits = Visits(
        lambda: _make(command), split=command.split, seed=command.seed, record=command.record
    )
    try:
        serve(visits, host=command.host, port=command.port, started=started)
    finally:
        record = visits.demonstrations
        if record.episodes_written:
            episodes = f"{record.episodes_written:,} episode{'s' * (record.episodes_written != 1)}"
            say(console, f"{episodes} in {record.path}")
        if record.problem:
            say(console, f"not recorded: {record.problem}")
    return 0


def _make(command: ServeShop) -> WebShopEnv:
    """Make the environment that the command names.

    Raises:
        ConfigurationError: The environment has no pages, or an argument is wrong.
    """
    from agentgym.envs.webshop.env import WebShopEnv
    from agentgym.registration.making import make_named, parse_pairs, resolve

    arguments = parse_pairs(command.env_kwargs, "--env-kwargs")
    env = make_named(command.env, arguments, "--env-kwargs")
    if not isinstance(env, WebShopEnv):
        env.close()
        raise ConfigurationError(
            f"expected --env to name a WebShop, the only family with pages, got {command.env!r}; "
            f"use agentgym play {resolve(command.env).family} in the terminal"
        )
    return env


SUBCOMMANDS = (Subcommand("serve webshop", ServeShop, serve),)
