"""``agentgym push openenv`` and ``verifiers``: write a folder for a hub, and upload it if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentgym.cli.arguments import PushOpenEnv, PushVerifiers
from agentgym.support.hub_upload import HubProgram, PushArguments
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console


def _openenv_words(arguments: PushArguments, name: str) -> list[str]:
    private = [] if arguments.public else ["--private"]
    repository = f"{arguments.owner or 'OWNER'}/{name}"
    return ["push", str(arguments.out), "--repo-id", repository, *private]


def _prime_words(arguments: PushArguments, name: str) -> list[str]:
    visibility = "PUBLIC" if arguments.public else "PRIVATE"
    owner = arguments.owner or "OWNER"
    return [
        "env", "push", "--path", str(arguments.out), "--owner", owner, "--visibility", visibility,
    ]  # fmt: skip


OPENENV = HubProgram("openenv", "openenv", _openenv_words)
"""Uploads to Hugging Face Spaces."""
PRIME = HubProgram("prime", "prime", _prime_words)
"""Uploads to Prime Intellect's environments hub."""


def push_openenv(command: PushOpenEnv, console: Console) -> int:
    """Write a folder of OpenEnv."""
    from agentgym.interop.openenv.folder import write_folder

    OPENENV.check(command)
    code = write_folder(command.out, command.env, command.env_kwargs, command.grammar)
    say(console, f"{command.out} is written. Check it:\n  openenv validate {command.out}")
    return OPENENV.finish(command, code.short, console)


def push_verifiers(command: PushVerifiers, console: Console) -> int:
    """Write a package of verifiers."""
    from agentgym.interop.verifiers.package import write_package

    PRIME.check(command)
    code = write_package(command.out, command.env, command.env_kwargs)
    name = code.short.replace("_", "-")
    # Without ./ pip would take a word for the name of a package on its index.
    place = command.out if command.out.is_absolute() else f"./{command.out}"
    say(
        console,
        f"{command.out} is written. Try it:\n  python -m pip install {place}\n"
        f"  vf-eval agentgym-{name} --env.player.harness.id null",
    )
    return PRIME.finish(command, name, console)
