"""Policies: random (the floor), oracle (the ceiling), chat models and plain functions."""

from __future__ import annotations

from agentgym.policies.base import (
    PUBLIC_INFO,
    ModelOutput,
    Policy,
    PolicyWithOutput,
    PolicyWithReset,
    begin,
    public_info,
)
from agentgym.policies.basic import CallablePolicy, OraclePolicy, RandomPolicy
from agentgym.policies.chat import ChatConfig, ChatPolicy

__all__ = [
    "PUBLIC_INFO",
    "CallablePolicy",
    "ChatConfig",
    "ChatPolicy",
    "ModelOutput",
    "OraclePolicy",
    "Policy",
    "PolicyWithOutput",
    "PolicyWithReset",
    "RandomPolicy",
    "begin",
    "public_info",
]
