"""Policies: random and blind ones (the floor), oracle (the ceiling), chat models, functions.

`play` has the one loop that plays an episode; `base` says what a policy is and what its exceptions
cost.
"""

from __future__ import annotations

from agentgym.core.oracle import DemonstratorPolicy, OraclePolicy
from agentgym.policies.base import (
    PUBLIC_INFO,
    ModelOutput,
    Policy,
    PolicyWithCopies,
    PolicyWithFacts,
    PolicyWithOutput,
    PolicyWithPrompt,
    PolicyWithReset,
    PolicyWithSeed,
    begin,
    public_info,
)
from agentgym.policies.basic import CallablePolicy, RandomPolicy
from agentgym.policies.blind import (
    BLIND,
    BlindPolicy,
    ConstantPolicy,
    blind_policy,
    fit_blind,
    is_yardstick,
)
from agentgym.policies.chat import ChatConfig, ChatPolicy

__all__ = [
    "BLIND",
    "PUBLIC_INFO",
    "BlindPolicy",
    "CallablePolicy",
    "ChatConfig",
    "ChatPolicy",
    "ConstantPolicy",
    "DemonstratorPolicy",
    "ModelOutput",
    "OraclePolicy",
    "Policy",
    "PolicyWithCopies",
    "PolicyWithFacts",
    "PolicyWithOutput",
    "PolicyWithPrompt",
    "PolicyWithReset",
    "PolicyWithSeed",
    "RandomPolicy",
    "begin",
    "blind_policy",
    "fit_blind",
    "is_yardstick",
    "public_info",
]
