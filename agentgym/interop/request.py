"""What a person asked of a peer: a name behind a prefix, and arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from agentgym.core.guard import words
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.registration.imports import IMPORTS
from agentgym.support.guesses import with_guesses


@dataclass(frozen=True)
class ImportRequest:
    """A name and the peer's arguments."""

    prefix: str
    """Prefix of the name."""
    reference: str
    """What stands behind it."""
    arguments: Mapping[str, Any]
    """Arguments for the peer."""

    @property
    def name(self) -> str:
        """The whole name, which begins the ids of tasks."""
        return f"{self.prefix}:{self.reference}"

    def check(self, names: Sequence[str]) -> None:
        """Refuse a name that the peer does not know.

        Raises:
            ConfigurationError: It is not among those that are known.
        """
        if self.reference not in names:
            raise ConfigurationError(
                f"expected {self.prefix}:{IMPORTS[self.prefix].form} that the other project "
                f"knows, got {with_guesses([self.reference], names)}; "
                f"`agentgym list {self.prefix}:` lists what it knows"
            )

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Say what was asked for where the peer cannot open it.

        Raises:
            ConfigurationError: The peer raised something.
        """
        try:
            yield
        except AgentGymError:
            raise
        except (Exception, SystemExit) as error:
            arguments = f" with the arguments {dict(self.arguments)}" if self.arguments else ""
            raise ConfigurationError(
                f"expected {self.prefix}:{IMPORTS[self.prefix].form} that can be opened here, got "
                f"{self.reference!r}{arguments}: {' '.join(words(error).split())}"
            ) from error

    def facts(self, *packages: str) -> dict[str, Any]:
        """Return what decides an episode besides its seed, for the hash of a panel.

        Args:
            *packages: The peer's packages, whose versions count.
        """
        return {
            "environment": self.name,
            "arguments": json.loads(json.dumps(dict(self.arguments), default=repr)),
            **{f"version of {package}": metadata.version(package) for package in packages},
        }
