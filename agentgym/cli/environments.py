"""The environment of a subcommand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from agentgym.registration.making import make_asked

if TYPE_CHECKING:
    from agentgym.core.env import TextEnv

_NOTHING: Mapping[str, Any] = {}


class NamesEnv(Protocol):
    """A subcommand that names an environment and its arguments."""

    @property
    def env(self) -> str:
        """Short name, id, or MODULE:ID."""
        ...

    @property
    def env_kwargs(self) -> tuple[str, ...]:
        """Arguments, each as name=value."""
        ...


def make(command: NamesEnv, grammar: str | None, suited: Mapping[str, Any] = _NOTHING) -> TextEnv:
    """Make the environment of a command, with ``suited`` arguments as defaults.

    Raises:
        ConfigurationError: Two grammars are named, or an argument is invalid.
    """
    return make_asked(command.env, command.env_kwargs, "--env-kwargs", grammar, suited)
