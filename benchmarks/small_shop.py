"""A small WebShop: requests name a product and two attributes, and three turns suffice.

``--env benchmarks.small_shop:benchmarks/SmallShop-v0`` plays WebShop with 2,000 products, no two of
which share type and attributes, so that a search for the whole request finds the product. It must
then be opened and bought; options do not matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium

from agentgym.envs.webshop.env import WebShopEnv
from agentgym.envs.webshop.generator.config import EASY

ID = "benchmarks/SmallShop-v0"
DIFFICULTY = replace(
    EASY, name="small", cluster_size=1, visible=2, hidden_asked=0, option_asked=0, offered=(1, 1)
)
"""``easy`` without near-duplicates, and without attributes that only a product's page shows."""


class SmallShop(WebShopEnv):
    """Search for a product, open it and buy it.

    Args:
        **kwargs: Arguments of :class:`~agentgym.envs.webshop.env.WebShopEnv`, except for the
        difficulty.
    """

    def __init__(self, **kwargs: Any) -> None:
        defaults = {"size": 2000, "observation_mode": "compact", "horizon": 3}
        super().__init__(difficulty=DIFFICULTY, **{**defaults, **kwargs})


gymnasium.register(ID, entry_point="benchmarks.small_shop:SmallShop")
