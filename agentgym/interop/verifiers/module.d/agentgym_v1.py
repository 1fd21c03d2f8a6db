"""The module of the taskset ``agentgym-v1``; see `agentgym.interop.verifiers.exported`."""

from agentgym.interop.verifiers.exported import AgentGymEnv, AgentGymTaskset

__all__ = ["AgentGymEnv", "AgentGymTaskset"]
