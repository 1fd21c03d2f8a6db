"""How large and how hard generated databases are: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgym.core.options import flag, integer, preset
from agentgym.envs.database.generator.domains import NAMES
from agentgym.envs.database.generator.request import KINDS
from agentgym.errors import ConfigurationError

GENERATOR_VERSION = 1
"""Raised when a seed would give another task."""


@dataclass(frozen=True)
class GeneratorConfig:
    """The settings of the generator.

    A variant of a preset should get a name of its own: the name is part of every draw.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    name: str
    """Name of the preset; part of every draw."""
    kinds: tuple[str, ...]
    """Kinds of requests; each is asked as often as it is listed."""
    rows: tuple[int, int]
    """Least and most rows of the table of things."""
    places: bool
    """Whether there is a second table, which the first refers to."""
    conditions: tuple[int, int]
    """Least and most conditions of a request."""
    names: int
    """What a column may be called: the first so many of its names."""
    numeric: bool = False
    """Whether conditions are about the things' own numbers alone."""
    domains: int = 6
    """The first so many domains are asked about."""

    @classmethod
    def of(cls, difficulty: str | GeneratorConfig) -> GeneratorConfig:
        """Return the preset of a name; a configuration is returned as it is.

        Raises:
            ConfigurationError: There is no such preset.
        """
        return preset(difficulty, "a difficulty", DIFFICULTIES)

    def __post_init__(self) -> None:
        """Validate, and turn lists into tuples: configurations are keys of what is kept."""
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            raise ConfigurationError(
                f"expected the name of a difficulty to be a text without /, got {self.name!r:.80}"
            )
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if isinstance(self.kinds, str) or not self.kinds or unknown:
            raise ConfigurationError(
                f"expected kinds among {', '.join(KINDS)}, got {self.kinds!r:.200}"
            )
        object.__setattr__(self, "kinds", tuple(self.kinds))
        _span(self, "rows", 8, len(NAMES) - 8)
        _span(self, "conditions", 0, 3)
        flag(self.places, "places of a difficulty")
        flag(self.numeric, "numeric of a difficulty")
        integer(self.names, "names of a difficulty", 1, 3)
        integer(self.domains, "domains of a difficulty", 1, 6)


def _span(config: GeneratorConfig, name: str, low: int, high: int) -> None:
    """Validate a least and a most."""
    value = getattr(config, name)
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ConfigurationError(
            f"expected {name} of a difficulty to be two numbers, got {value!r:.80}"
        )
    least = integer(value[0], f"the least {name} of a difficulty", low, high)
    most = integer(value[1], f"the most {name} of a difficulty", least, high)
    object.__setattr__(config, name, (least, most))


DIFFICULTIES: Mapping[str, GeneratorConfig] = {
    "easy": GeneratorConfig(
        "easy", ("extreme", "which"), (8, 12), False, (0, 1), 2, numeric=True, domains=2
    ),
    "medium": GeneratorConfig(
        "medium",
        ("extreme", "which", "rank", "total", "average", "count", "lookup", "update", "delete",
         "insert"),
        (12, 24), True, (0, 1), 2,
    ),
    "hard": GeneratorConfig("hard", KINDS, (20, 40), True, (1, 2), 3),
}  # fmt: skip
"""Presets: ``easy`` asks for extremes in one table, ``medium`` for all that takes one condition and
for changes, ``hard`` for every kind, with several conditions and two tables."""
