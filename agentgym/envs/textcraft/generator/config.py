"""Depth and size of generated worlds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from agentgym.core.options import integer, preset
from agentgym.core.tasks import canonical_json
from agentgym.errors import ConfigurationError

Range = tuple[int, int]
BOUNDS: Mapping[str, Range] = {
    "depth": (1, 6),
    "ingredients": (1, 3),
    "counts": (1, 9),
    "yields": (1, 9),
    "distractors": (0, 40),
    "turns": (2, 60),
}
"""Minimum and maximum of each range."""
SHARES = ("crafted", "shared", "alternatives", "borrowed")
"""Settings that are percentages."""


@dataclass(frozen=True)
class GeneratorConfig:
    """Settings of the generator. Ranges are numbers, or inclusive pairs.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """

    depth: int | Range = (2, 3)
    """Number of crafts on the longest path to the goal."""
    ingredients: int | Range = (2, 3)
    """Number of different ingredients of a recipe."""
    counts: int | Range = (1, 3)
    """Number of each ingredient that a recipe takes."""
    yields: int | Range = (1, 2)
    """Number of items that a recipe makes."""
    crafted: int = 30
    """Percentage of the further ingredients of a recipe that must be crafted, too."""
    shared: int = 20
    """Percentage of ingredients that are shared with another recipe."""
    alternatives: int = 0
    """Percentage of craftable items with a second recipe."""
    distractors: int | Range = (10, 14)
    """Number of recipes that the goal does not need."""
    borrowed: int = 60
    """Percentage of the distractors' ingredients that the goal needs, too."""
    turns: int | Range | None = (5, 15)
    """Length of the shortest plan; None allows any."""

    def __post_init__(self) -> None:
        """Check the values and bring them into one form."""
        for name, (low, high) in BOUNDS.items():
            value = getattr(self, name)
            if name != "turns" or value is not None:
                object.__setattr__(self, name, _range(name, value, low, high))
        for name in SHARES:
            integer(getattr(self, name), name, 0, 100)

    @classmethod
    def of(cls, value: GeneratorConfig | str | Mapping[str, Any]) -> GeneratorConfig:
        """Return the config for a name or a mapping of values; a config is returned unchanged.

        Raises:
            ConfigurationError: The difficulty or a setting does not exist.
        """
        if not isinstance(value, Mapping):
            return preset(value, "a difficulty", DIFFICULTIES)
        setting_names = [field.name for field in fields(cls)]
        unknown = sorted(set(map(str, value)) - set(setting_names))
        if unknown:
            raise ConfigurationError(
                f"expected generator settings among {', '.join(setting_names)}; "
                f"got {unknown[0]!r:.80}"
            )
        return cls(**value)

    @property
    def key(self) -> str:
        """Name for task ids: the difficulty's name, or a hash of the values."""
        for name, config in DIFFICULTIES.items():
            if config == self:
                return name
        text = canonical_json(asdict(self))
        return f"custom-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _range(name: str, value: Any, low: int, high: int) -> Range:
    """Check a number or a range, and return it as a range."""
    pair = (value, value) if isinstance(value, int) else value
    is_range = (
        isinstance(pair, tuple | list) and len(pair) == 2 and all(type(n) is int for n in pair)
    )
    if not is_range or not low <= pair[0] <= pair[1] <= high:
        raise ConfigurationError(
            f"expected {name} to be a number from {low} to {high}, or a range (low, high) of such; "
            f"got {value!r:.80}"
        )
    return (pair[0], pair[1])


DIFFICULTIES: dict[str, GeneratorConfig] = {
    "easy": GeneratorConfig(
        depth=1, ingredients=2, yields=1, shared=0, distractors=4, borrowed=0, turns=3
    ),
    "medium": GeneratorConfig(),
    "hard": GeneratorConfig(
        depth=(3, 4), ingredients=(2, 3), counts=(1, 4), yields=(1, 4), crafted=40, shared=30,
        alternatives=25, distractors=(12, 18), turns=(8, 24),
    ),
}  # fmt: skip
"""Named settings: one craft by the right recipe, a tree, and a deep tree with choices."""
