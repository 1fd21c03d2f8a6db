"""Turn-level rewards: hooks that map a turn to a number, and a wrapper that adds them to any env.

Pass hooks to ``gymnasium.make(id, reward_hooks=[...])`` or wrap an environment in `ShapedReward`.
Each hook's weighted value stands in ``info["reward_terms"]`` under its name, and the terms sum to
the reward. Hooks are deterministic, picklable and deep-copyable; an environment copies them.
"""

from __future__ import annotations

from agentgym.hooks import TurnContext, TurnReward, TurnState
from agentgym.rewards.terms import (
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    SuccessBonus,
    TurnCost,
    family_potential,
    potential_gain,
)
from agentgym.rewards.wrapper import ShapedReward

__all__ = [
    "InvalidAction",
    "LinearAlpha",
    "Potential",
    "Progressive",
    "Repeat",
    "ShapedReward",
    "SuccessBonus",
    "TurnContext",
    "TurnCost",
    "TurnReward",
    "TurnState",
    "family_potential",
    "potential_gain",
]
