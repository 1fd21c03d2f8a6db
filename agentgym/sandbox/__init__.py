"""Sandboxes: places where commands of a model run apart from the host."""

from agentgym.sandbox.base import (
    ExecResult,
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxLimits,
    SandboxLost,
    SandboxUnavailable,
)
from agentgym.sandbox.registry import SANDBOXES, open_sandbox, probe

__all__ = [
    "SANDBOXES",
    "ExecResult",
    "Sandbox",
    "SandboxConfig",
    "SandboxDied",
    "SandboxLimits",
    "SandboxLost",
    "SandboxUnavailable",
    "open_sandbox",
    "probe",
]
