"""Errors of engines that are not caused by settings."""

from __future__ import annotations

from agentgym.errors import AgentGymError

__all__ = ["GO_ON", "EngineFailure", "EngineLost", "Unreachable"]

GO_ON = "the run's folder is intact: repeat the command with --resume to continue"


class EngineFailure(AgentGymError, RuntimeError):
    """The engine died, cannot be reached, or failed to carry out a request."""


class EngineLost(EngineFailure):
    """The engine died in this process, and sending weights again cannot bring it back."""


class Unreachable(EngineFailure):
    """A remote engine does not answer."""
