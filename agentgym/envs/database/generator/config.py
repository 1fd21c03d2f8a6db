"""Size and difficulty of generated databases: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.core.options import flag, integer, preset
from agentgym.envs.database.generator.domains import NAMES
from agentgym.envs.database.generator.request import KINDS
from agentgym.envs.kinds_config import KindsConfig

GENERATOR_VERSION = 1
"""Raise it when a seed gives another task."""


@dataclass(frozen=True)
class GeneratorConfig(KindsConfig):
    """The settings of the generator.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    all_kinds = KINDS

    rows: tuple[int, int]
    """Minimum and maximum number of rows of the table of entities."""
    places: bool
    """Whether there is a second table, referenced by the first."""
    conditions: tuple[int, int]
    """Minimum and maximum number of conditions of a request."""
    names: int
    """Number of possible names per column."""
    numeric: bool = False
    """Whether all conditions are about numbers in the table of entities."""
    domains: int = 6
    """Number of domains."""

    @classmethod
    def of(cls, difficulty: str | GeneratorConfig) -> GeneratorConfig:
        """Return the preset of a name; a configuration is returned unchanged.

        Raises:
            ConfigurationError: The preset does not exist.
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
        "easy", ("extreme", "which"), rows=(8, 12), places=False, conditions=(0, 1), names=2,
        numeric=True, domains=2,
    ),
    "medium": GeneratorConfig(
        "medium",
        ("extreme", "which", "rank", "total", "average", "count", "lookup", "update", "delete",
         "insert"),
        rows=(12, 24), places=True, conditions=(0, 1), names=2,
    ),
    "hard": GeneratorConfig(
        "hard", KINDS, rows=(20, 40), places=True, conditions=(1, 2), names=3
    ),
}  # fmt: skip
"""Presets: ``easy`` asks for extremes in one table, ``medium`` has requests with one condition and
changes, ``hard`` all kinds, with several conditions and two tables."""
