"""Sandboxes: places where commands of a model run apart from the host."""

from agentgym.sandbox.base import (
    ExecResult,
    Limits,
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxUnavailable,
)

__all__ = [
    "ExecResult",
    "Limits",
    "Sandbox",
    "SandboxConfig",
    "SandboxDied",
    "SandboxUnavailable",
]
