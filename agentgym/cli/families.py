"""The subcommands that families add."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from agentgym.registration import Subcommand, families


@lru_cache(maxsize=1)
def family_subcommands() -> tuple[Subcommand[Any], ...]:
    """Return the subcommands of all installed families.

    Raises:
        ConfigurationError: The subcommands of a family cannot be imported.
    """
    return tuple(subcommand for entry in families() for subcommand in entry.load_subcommands())
