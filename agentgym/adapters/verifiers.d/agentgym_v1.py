"""The module of the taskset ``agentgym-v1`` for verifiers; see `agentgym.adapters.verifiers`."""

from agentgym.adapters.verifiers import AgentGymEnv, AgentGymTaskset

__all__ = ["AgentGymEnv", "AgentGymTaskset"]
