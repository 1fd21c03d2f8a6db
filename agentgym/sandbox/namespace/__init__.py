"""Sandboxes of Linux namespaces: no daemon, no image, no root needed."""

from agentgym.sandbox.namespace.box import NamespaceSandbox

__all__ = ["NamespaceSandbox"]
