"""Harbor: its tasks here (`imported`), and our sandbox as one of its environments (`environment`).

`folder` reads tasks, `resources` what they need and `shortages` what they lacked; `boxes` are their
sandboxes, and `world` and `env` play them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentgym.interop.harbor.environment import NamespaceEnvironment

__all__ = ["NamespaceEnvironment"]


def __getattr__(name: str) -> Any:
    """Import the class, which needs Harbor, where Harbor names it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from agentgym.interop.harbor import environment

    return environment.NamespaceEnvironment
