"""What verifiers imports for the taskset ``agentgym-v1``; see `agentgym.adapters.verifiers`."""

from agentgym.adapters.verifiers import AgentGymEnv, AgentGymTaskset

__all__ = ["AgentGymEnv", "AgentGymTaskset"]
