"""The subcommands that families bring."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from agentgym.registration import Subcommand, families


@lru_cache(maxsize=1)
def family_subcommands() -> tuple[Subcommand[Any], ...]:
    """Return the subcommands of all families that are installed.

    Raises:
        ConfigurationError: Those of a family cannot be imported.
    """
    return tuple(one for entry in families() for one in entry.load_subcommands())
