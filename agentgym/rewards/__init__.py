"""Turn-level rewards: hooks that map a turn to a number, and a wrapper that adds them to an env.

Pass hooks to ``gymnasium.make(id, reward_hooks=[...])`` or wrap an environment in `ShapedReward`.
A hook may also be a reward function of TRL, verl or verifiers (`RewardFunction`).
``info["reward_terms"]`` holds each hook's weighted value under its name, and the terms sum to the
reward. On a command line, hooks are written in the syntax of `parse_hooks`: ``potential
turn_cost=0.01``. Hooks are deterministic, picklable and deep-copyable; an environment copies them.

To add one of these, touch these files:

- a reward hook: a class in ``agentgym/rewards/terms.py`` (``search_terms.py`` if it reads details
  of searches), a row in ``agentgym/rewards/table.py`` (``--reward-hooks``, records and replay read
  it), its name in ``agentgym/rewards/__init__.py``; a schedule of alpha likewise, with rows in
  ``_NESTED`` and ``_SCHEDULES`` of the table
"""

from __future__ import annotations

from agentgym.core.hooks import TurnContext, TurnReward, TurnState
from agentgym.core.reward_functions import RewardFunction
from agentgym.rewards.costs import Calls, Characters, Forbidden, Needless
from agentgym.rewards.judge.terms import Judge, JudgeMask
from agentgym.rewards.machine import RewardMachine
from agentgym.rewards.search_terms import (
    Format,
    GoldEvidence,
    NoSearchPenalty,
    RetrievalHit,
    SearchCost,
)
from agentgym.rewards.table import HOOKS, parse_hooks
from agentgym.rewards.terms import (
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    StagedAlpha,
    SuccessBonus,
    SuppliedHook,
    ToolBonus,
    TurnCost,
    family_potential,
    potential_gain,
)
from agentgym.rewards.wrapper import ShapedReward

__all__ = [
    "HOOKS",
    "Calls",
    "Characters",
    "Forbidden",
    "Format",
    "GoldEvidence",
    "InvalidAction",
    "Judge",
    "JudgeMask",
    "LinearAlpha",
    "Needless",
    "NoSearchPenalty",
    "Potential",
    "Progressive",
    "Repeat",
    "RetrievalHit",
    "RewardFunction",
    "RewardMachine",
    "SearchCost",
    "ShapedReward",
    "StagedAlpha",
    "SuccessBonus",
    "SuppliedHook",
    "ToolBonus",
    "TurnContext",
    "TurnCost",
    "TurnReward",
    "TurnState",
    "family_potential",
    "parse_hooks",
    "potential_gain",
]
