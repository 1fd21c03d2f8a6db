"""Experts: an oracle, a careful shopper, and flawed ones that buy too soon or search too short."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from agentgym.envs.webshop.engine.shop import Shop
from agentgym.envs.webshop.experts.base import Expert
from agentgym.envs.webshop.experts.careful import CarefulExpert
from agentgym.envs.webshop.experts.hasty import HastyExpert
from agentgym.envs.webshop.experts.hurried import HurriedExpert
from agentgym.envs.webshop.experts.lazy import LazyExpert
from agentgym.envs.webshop.experts.oracle import OracleExpert

EXPERTS: Mapping[str, Callable[[Shop, bool, str], Expert]] = {
    "oracle": lambda shop, highlights, reward: OracleExpert(shop),
    "careful": CarefulExpert,
    "thinking": partial(CarefulExpert, thinks=True),
    "hasty": HastyExpert,
    "hurried": partial(HurriedExpert, thinks=True),
    "lazy": partial(LazyExpert, thinks=True),
}
"""Name of an expert -> its factory; arguments: shop, whether results show highlights, reward."""
FALLIBLE: Mapping[str, str] = {
    "hasty": "careful",
    "hurried": "thinking",
    "lazy": "thinking",
}
"""Fallible experts, which always buy but do not always succeed -> their counterparts that always
succeed, as all others do."""
