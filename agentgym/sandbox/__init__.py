"""Sandboxes: places where commands of a model run apart from the host."""

from agentgym.sandbox.base import (
    ExecResult,
    Limits,
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxUnavailable,
)
from agentgym.sandbox.opening import BACKENDS, open_sandbox, probe

__all__ = [
    "BACKENDS",
    "ExecResult",
    "Limits",
    "Sandbox",
    "SandboxConfig",
    "SandboxDied",
    "SandboxUnavailable",
    "open_sandbox",
    "probe",
]
