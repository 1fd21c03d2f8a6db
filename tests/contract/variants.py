"""Families in other configurations than their default; the contract holds for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium

from agentgym.registration import family

VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "agentgym-test/ALFWorldDense-v0": (
        "alfworld",
        {
            "difficulty": "hard",
            "reward": "dense",
            "show_admissible": True,
        },
    ),
    "agentgym-test/ALFWorldOriginal-v0": (
        "alfworld",
        {"difficulty": "easy", "task_types": ["place"], "engine": "alfworld"},
    ),
}
"""Id -> short name of the family, keyword arguments."""


def packages(env_id: str) -> tuple[str, ...]:
    """Return the optional packages that a variant needs beyond those of its family."""
    engine = VARIANTS[env_id][1].get("engine") if env_id in VARIANTS else None
    return {"alfworld": ("alfworld", "fast_downward"), "inform7": ("textworld",)}.get(engine, ())


def register_variants() -> None:
    """Register the ids once per process."""
    for env_id, (name, kwargs) in VARIANTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=family(name).entry_point, kwargs=dict(kwargs))


register_variants()
