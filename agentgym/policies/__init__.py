"""Policies: random (the floor), oracle (the ceiling), chat models and plain functions."""

from __future__ import annotations

from agentgym.policies.base import Policy, begin
from agentgym.policies.callable import CallablePolicy
from agentgym.policies.chat import ChatConfig, ChatPolicy, ModelOutput
from agentgym.policies.oracle import OraclePolicy
from agentgym.policies.random import RandomPolicy

__all__ = [
    "CallablePolicy",
    "ChatConfig",
    "ChatPolicy",
    "ModelOutput",
    "OraclePolicy",
    "Policy",
    "RandomPolicy",
    "begin",
]
