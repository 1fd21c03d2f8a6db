"""Generated shops in the official WebShop schema: invented words, no download, any size.

Example:
    >>> from agentgym.envs.webshop.generator import generate
    >>> shop = generate(50, "easy", seed=0)
    >>> len(shop.items), sorted(shop.items[0])[:3]
    (50, ['asin', 'average_rating', 'category'])
"""

from __future__ import annotations

from agentgym.envs.webshop.generator.config import DIFFICULTIES, GeneratorConfig
from agentgym.envs.webshop.generator.generated_shop import GeneratedShop, generate

__all__ = ["DIFFICULTIES", "GeneratedShop", "GeneratorConfig", "generate"]
