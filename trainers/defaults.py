"""What a run uses where its command line is silent: one entry per environment family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class FamilyDefaults:
    """Settings that make a family's default tasks learnable by the tiny policy on a CPU."""

    env: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment."""
    horizon: tuple[int, ...] = (5, 8, 10)
    """ScalingInter rounds; the last one is the full horizon."""
    every: int = 40
    """Steps per stage."""
    steps: int = 150
    """Reinforcement learning steps."""


FAMILY_DEFAULTS: Mapping[str, FamilyDefaults] = {
    "webshop": FamilyDefaults(
        env={
            "difficulty": "easy",
            "size": 4000,
            "observation_mode": "compact",
            "expert": "thinking",
        },
        horizon=(5, 7, 9),
        every=6,
        steps=100,
    ),
}


def defaults_for(family: str) -> FamilyDefaults:
    """Return the defaults of a family, or general ones for a family without an entry."""
    return FAMILY_DEFAULTS.get(family, FamilyDefaults())
