"""Experts: the one that knows the target, and the one that has to shop for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.base import Expert
from agentgym.envs.webshop.experts.careful import CarefulExpert
from agentgym.envs.webshop.experts.oracle import OracleExpert

EXPERTS: Mapping[str, Callable[[Shop, bool, str], Expert]] = {
    "target": lambda shop, highlights, reward: OracleExpert(shop),
    "careful": CarefulExpert,
    "thinking": partial(CarefulExpert, thinks=True),
}
"""Name of an expert -> what makes it for a shop, whether results show highlights, and a reward."""
