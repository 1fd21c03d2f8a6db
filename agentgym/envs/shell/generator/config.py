"""The number of files and the kinds of tasks: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.core.options import integer, preset
from agentgym.envs.kinds_config import KindsConfig

GENERATOR_VERSION = 1
"""Raise it when a seed gives another task."""
QUESTIONS = ("count", "sum", "holder", "longest")
CHANGES = ("sort", "replace", "delete", "collect", "move")
KINDS = (*QUESTIONS, *CHANGES)
"""Kinds of tasks."""


@dataclass(frozen=True)
class GeneratorConfig(KindsConfig):
    """The settings of the generator.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    all_kinds = KINDS

    folders: int
    """Number of folders."""
    depth: int
    """Maximum nesting of folders."""
    files: tuple[int, int]
    """Minimum and maximum number of files."""
    lines: tuple[int, int]
    """Minimum and maximum number of lines of a file."""

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
        integer(self.folders, "folders of a difficulty", 2, 6)
        integer(self.depth, "depth of a difficulty", 1, 3)
        self._check_span("files", 4, 24)
        self._check_span("lines", 6, 60)


DIFFICULTIES: Mapping[str, GeneratorConfig] = {
    "easy": GeneratorConfig(
        "easy", ("count", "sort"), folders=2, depth=1, files=(4, 6), lines=(10, 60)
    ),
    "medium": GeneratorConfig(
        "medium", ("count", "sum", "holder", "sort", "replace", "delete"),
        folders=4, depth=2, files=(6, 12), lines=(8, 40),
    ),
    "hard": GeneratorConfig("hard", KINDS, folders=6, depth=3, files=(12, 20), lines=(10, 60)),
}  # fmt: skip
"""Presets: in ``easy`` a file is in one of two folders; ``hard`` has all kinds of tasks, in nested
folders."""
