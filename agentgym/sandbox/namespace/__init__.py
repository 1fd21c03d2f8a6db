"""Sandboxes of Linux namespaces: no daemon, no image, no root needed.

Not by bubblewrap, which users would have to install: a command by a new process of it takes 25 ms
where a server inside takes 3, and the version of Debian has no overlays, of which snapshots are
made.
"""

from agentgym.sandbox.namespace.box import NamespaceSandbox

__all__ = ["NamespaceSandbox"]
