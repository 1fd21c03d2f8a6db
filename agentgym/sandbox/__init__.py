"""Sandboxes: places where commands of a model run apart from the host.

To add one of these, touch these files:

- a sandbox back end: ``agentgym/sandbox/<name>/``, a row in ``SANDBOXES`` of
  ``agentgym/sandbox/registry.py``, what it needs to open in ``tests/sandbox/prepared.py``; the
  contract and safety suites run over it
"""

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
