"""Shared settings of generators that mix several kinds of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agentgym.core.options import integer
from agentgym.errors import ConfigurationError

__all__ = ["KindsConfig"]


@dataclass(frozen=True)
class KindsConfig:
    """A named difficulty that selects kinds of tasks; a family adds its own settings.

    Give a variant of a preset another name: the name is part of every random draw.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    all_kinds: ClassVar[Sequence[str]]
    """Kinds of the family."""

    name: str
    """Name of the preset; part of every draw."""
    kinds: tuple[str, ...]
    """Kinds of what is asked; each is asked as often as it is listed."""

    def __post_init__(self) -> None:
        """Validate, and turn lists into tuples: configurations are keys of what is kept."""
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            raise ConfigurationError(
                f"expected the name of a difficulty to be a text without /, got {self.name!r:.80}"
            )
        unknown = [kind for kind in self.kinds if kind not in self.all_kinds]
        if isinstance(self.kinds, str) or not self.kinds or unknown:
            raise ConfigurationError(
                f"expected kinds among {', '.join(self.all_kinds)}, got {self.kinds!r:.200}"
            )
        object.__setattr__(self, "kinds", tuple(self.kinds))

    def _check_span(self, name: str, low: int, high: int) -> None:
        """Validate a setting that is a least and a most."""
        value = getattr(self, name)
        if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
            raise ConfigurationError(
                f"expected {name} of a difficulty to be two numbers, got {value!r:.80}"
            )
        least = integer(value[0], f"the least {name} of a difficulty", low, high)
        upper = integer(value[1], f"the most {name} of a difficulty", least, high)
        object.__setattr__(self, name, (least, upper))
