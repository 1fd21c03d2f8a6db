"""Arguments of the shop: errors that name the argument, what was expected and what came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agentgym.errors import ConfigurationError


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Validate a whole number; ``most`` None is no limit.

    Raises:
        ConfigurationError: It is none, or out of range.
    """
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_int or value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise ConfigurationError(f"expected {name} to be an integer {span}, got {value!r:.80}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Validate a switch: text such as ``"false"`` would count as true.

    Raises:
        ConfigurationError: It is no ``bool``.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"expected {name} to be True or False, got {value!r:.80}")
    return value


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Validate one of several words.

    Raises:
        ConfigurationError: It is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(choices)
        raise ConfigurationError(f"expected {name} to be one of {known}; got {value!r:.80}")
    return value
