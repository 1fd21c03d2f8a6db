"""Generated shops in the official WebShop schema: own words, no download, any size.

Example:
    >>> from agentgym.envs.webshop.generator import generate
    >>> shop = generate(50, "easy", seed=0)
    >>> len(shop.items), sorted(shop.items[0])[:3]
    (50, ['asin', 'average_rating', 'category'])
"""

from __future__ import annotations

from agentgym.envs.webshop.generator.config import DIFFICULTIES, Difficulty, difficulty
from agentgym.envs.webshop.generator.families import VERSION, Draft
from agentgym.envs.webshop.generator.instructions import Request
from agentgym.envs.webshop.generator.shop import Catalogue
from agentgym.errors import ConfigurationError

MIN_SIZE, MAX_SIZE = 20, 100_000

__all__ = [
    "DIFFICULTIES",
    "MAX_SIZE",
    "MIN_SIZE",
    "VERSION",
    "Catalogue",
    "Difficulty",
    "Draft",
    "Request",
    "difficulty",
    "generate",
]


def generate(size: int, difficulty: str | Difficulty = "medium", seed: int = 0) -> Catalogue:
    """Make a shop.

    Args:
        size: Number of products, from 20 to 100,000; each costs time and memory.
        difficulty: ``easy``, ``medium``, ``hard``, or a :class:`Difficulty`.
        seed: Any non-negative integer; another seed is another shop.

    Returns:
        The catalogue; its products are computed on demand.

    Raises:
        ConfigurationError: A value is out of range; the message names it.
    """
    if isinstance(size, bool) or not isinstance(size, int) or not MIN_SIZE <= size <= MAX_SIZE:
        raise ConfigurationError(
            f"expected size (a catalogue size, in products) to be an integer from {MIN_SIZE} to "
            f"{MAX_SIZE:,}, got {size!r}; choose for example 1000"
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ConfigurationError(
            f"expected a non-negative integer as catalogue seed, got {seed!r}; use 0"
        )
    return Catalogue(size, _preset(difficulty), seed)


_preset = difficulty
