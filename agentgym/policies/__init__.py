"""Policies: random (the floor), oracle (the ceiling), chat models and plain functions."""

from __future__ import annotations

from agentgym.policies.base import PUBLIC_INFO, Policy, begin, public_info
from agentgym.policies.callable import CallablePolicy
from agentgym.policies.chat import ChatConfig, ChatPolicy, ModelOutput
from agentgym.policies.oracle import OraclePolicy
from agentgym.policies.random import RandomPolicy

__all__ = [
    "PUBLIC_INFO",
    "CallablePolicy",
    "ChatConfig",
    "ChatPolicy",
    "ModelOutput",
    "OraclePolicy",
    "Policy",
    "RandomPolicy",
    "begin",
    "public_info",
]
