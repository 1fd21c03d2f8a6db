"""Policies: random and blind (lower bounds), oracle (upper bound), chat models, functions.

`play` contains the loop that plays an episode; `base` defines the policy protocols, and `failures`
classifies their exceptions.
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
    is_reference_policy,
)
from agentgym.policies.chat import ChatConfig, ChatPolicy
from agentgym.policies.transcriber import TRANSCRIBERS, Transcriber

__all__ = [
    "BLIND",
    "PUBLIC_INFO",
    "TRANSCRIBERS",
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
    "Transcriber",
    "begin",
    "blind_policy",
    "fit_blind",
    "is_reference_policy",
    "public_info",
]
