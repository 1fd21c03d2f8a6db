"""Sandboxes run a model's commands isolated from the host.

`base` defines the interface, `registry` selects a back end by name. The back ends are `namespace`
(Linux namespaces, no daemon), `docker` (Docker or Podman), `remote` (a server on another machine)
and `unisolated` (plain processes, for trusted commands only). In all but `remote`, the server
`pid1` inside the sandbox runs the commands, and `served` is its client.

To add one of these, touch these files:

- a sandbox back end: ``agentgym/sandbox/<name>/``, a row in ``SANDBOXES`` of
  ``agentgym/sandbox/registry.py``, its requirements in ``tests/sandbox/prepared.py``; the
  contract and safety suites test it
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
