"""How large and how hard generated databases are: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.core.options import flag, integer, preset
from agentgym.envs.database.generator.domains import NAMES
from agentgym.envs.database.generator.request import KINDS
from agentgym.envs.kinds_config import KindsConfig

GENERATOR_VERSION = 1
"""Raised when a seed would give another task."""


@dataclass(frozen=True)
class GeneratorConfig(KindsConfig):
    """The settings of the generator.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    known = KINDS

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
        """Validate."""
        super().__post_init__()
        self._check_span("rows", 8, len(NAMES) - 8)
        self._check_span("conditions", 0, 3)
        flag(self.places, "places of a difficulty")
        flag(self.numeric, "numeric of a difficulty")
        integer(self.names, "names of a difficulty", 1, 3)
        integer(self.domains, "domains of a difficulty", 1, 6)


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
