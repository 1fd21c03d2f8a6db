"""Options of ``reset``: which there are, and what values they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError

RESET_OPTIONS = ("split", "index", "task_id", "horizon", "training_step")


def checked_options(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Refuse reset options that nothing reads.

    Args:
        options: What ``reset`` was given.

    Returns:
        The options, empty for None.

    Raises:
        ConfigurationError: An option is unknown.
    """
    unknown = sorted(set(options or ()) - set(RESET_OPTIONS))
    if unknown:
        raise ConfigurationError(
            f"expected reset options among {', '.join(RESET_OPTIONS)}; got {unknown}"
        )
    return options or {}


def turns(value: Any, name: str) -> int:
    """Validate a number of turns.

    Args:
        value: The number.
        name: What it is called in the message.

    Returns:
        The number as an ``int``.

    Raises:
        ConfigurationError: It is not an integer of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ConfigurationError(f"expected {name} to be an integer of at least 1, got {value!r}")
    return int(value)
