"""Families in other configurations than their default; the contract holds for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from agentgym.registration import family

FEW = {"train": 8, "valid": 2, "test": 4}
FEWER = {"train": 3, "valid": 2, "test": 4}
"""Where every game is compiled to a story file, too."""
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "agentgym-test/ALFWorldDense-v0": (
        "alfworld",
        {"difficulty": "hard", "reward": "dense", "show_admissible": True},
    ),
    "agentgym-test/ALFWorldOriginal-v0": (
        "alfworld",
        {"difficulty": {"task_types": ["place"], "receptacles": 3, "distractors": 0},
         "engine": "alfworld"},
    ),
    "agentgym-test/SearchHard-v0": (
        "search",
        {"difficulty": "hard", "reward": "f1", "answer_attempts": 3,
         "first_search": True, "shared_corpus": True, "size": 6000},
    ),
    "agentgym-test/SearchTantivy-v0": (
        "search",
        {"difficulty": "easy", "index": "tantivy", "hops": (2, 3), "topk": 5, "size": 3000,
         "answer_attempts": 5,
         "expert": "oracle"},
    ),
    "agentgym-test/SWEDense-v0": ("swe", {"reward": "dense", "expert": "developer"}),
    "agentgym-test/TextWorldDense-v0": (
        "textworld",
        {"reward": "dense", "description": True, "inventory": True, "show_admissible": True},
    ),
    "agentgym-test/TextWorldInform-v0": (
        "textworld", {"engine": "inform7", "games": FEWER},
    ),
    "agentgym-test/TextWorldCoin-v0": ("textworld", {"challenge": "coin_collector", "games": FEW}),
    "agentgym-test/TextWorldTreasure-v0": (
        "textworld", {"challenge": "treasure_hunter", "games": FEW, "reward": "score"},
    ),
    "agentgym-test/TextWorldSimple-v0": ("textworld", {"challenge": "simple", "games": FEW}),
    "agentgym-test/TextWorldCooking-v0": (
        "textworld", {"difficulty": "cooking-easy", "games": FEW, "reward": "score"},
    ),
    "agentgym-test/WebShopWorkers-v0": ("webshop", {"worker_turns": 4, "horizon": 30}),
}  # fmt: skip
"""Id -> short name of the family, keyword arguments."""


def packages(env_id: str) -> tuple[str, ...]:
    """Return the optional packages that a variant needs beyond those of its family."""
    name, kwargs = VARIANTS.get(env_id, ("", {}))
    if kwargs.get("engine") == "alfworld":
        return ("alfworld", "fast_downward")
    if kwargs.get("index") == "tantivy":
        return ("tantivy",)
    return ("textworld",) if name == "textworld" and "games" in kwargs else ()


def register_variants() -> None:
    """Register the ids once per process."""
    for env_id, (name, kwargs) in VARIANTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=family(name).entry_point, kwargs=dict(kwargs))


register_variants()
