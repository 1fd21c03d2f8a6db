"""Sandboxes of Linux namespaces: no daemon, no image, no root needed.

bubblewrap is not used, because users would have to install it, a new process for each command takes
25 ms where a server inside takes 3, and Debian's version lacks overlays, which snapshots need.
"""

from agentgym.sandbox.namespace.box import NamespaceSandbox

__all__ = ["NamespaceSandbox"]
