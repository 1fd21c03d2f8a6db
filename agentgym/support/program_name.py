"""The name under which a user called the trainer: ``agentgym train`` or ``agentgym-train``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["called_from_agentgym", "program_name"]

_from_agentgym: ContextVar[bool] = ContextVar("from_agentgym", default=False)


@contextmanager
def called_from_agentgym() -> Iterator[None]:
    """Name commands as subcommands of ``agentgym`` for the time of a call."""
    token = _from_agentgym.set(True)
    try:
        yield
    finally:
        _from_agentgym.reset(token)


def program_name(subcommand: str = "train") -> str:
    """Return a command of the trainer as the user would type it.

    Args:
        subcommand: ``train``, ``presets`` or ``merge``.

    Returns:
        ``agentgym train`` or ``agentgym merge`` inside :func:`called_from_agentgym`, else
        ``agentgym-train`` or ``agentgym-train merge``.
    """
    if _from_agentgym.get():
        return f"agentgym {subcommand}"
    return "agentgym-train" if subcommand == "train" else f"agentgym-train {subcommand}"
