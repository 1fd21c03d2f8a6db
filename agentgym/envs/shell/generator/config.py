"""How many files there are, and what is asked of them: three presets of the same settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgym.core.options import integer, preset
from agentgym.errors import ConfigurationError

GENERATOR_VERSION = 1
"""Raised when a seed would give another task."""
QUESTIONS = ("count", "sum", "holder", "longest")
CHANGES = ("sort", "replace", "delete", "collect", "move")
KINDS = (*QUESTIONS, *CHANGES)
"""Kinds of what is asked."""


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
    """Kinds of what is asked; each is asked as often as it is listed."""
    folders: int
    """Folders."""
    depth: int
    """How deep they may lie in each other."""
    files: tuple[int, int]
    """Least and most files."""
    lines: tuple[int, int]
    """Least and most lines of a file."""

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
        integer(self.folders, "folders of a difficulty", 2, 6)
        integer(self.depth, "depth of a difficulty", 1, 3)
        _span(self, "files", 4, 24)
        _span(self, "lines", 6, 60)


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
    "easy": GeneratorConfig("easy", ("count", "sort"), 2, 1, (4, 6), (10, 60)),
    "medium": GeneratorConfig(
        "medium", ("count", "sum", "holder", "sort", "replace", "delete"), 4, 2, (6, 12), (8, 40)
    ),
    "hard": GeneratorConfig("hard", KINDS, 6, 3, (12, 20), (10, 60)),
}
"""Presets: in ``easy`` a file lies in one of two folders; ``hard`` asks for everything, in folders
of folders."""
