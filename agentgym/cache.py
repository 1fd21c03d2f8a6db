"""What is kept: generated files between processes, recent results within one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def cache_folder() -> Path:
    """Return the folder for generated files; it need not exist.

    Returns:
        ``AGENTGYM_CACHE``, or ``agentgym`` under ``XDG_CACHE_HOME`` or ``~/.cache``.
    """
    own = os.environ.get("AGENTGYM_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "agentgym"


class BoundedCache(dict[Key, Value]):
    """A dict that is emptied when it is full: bounded, and safe under threads without a lock.

    Args:
        capacity: Most entries to hold.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def put(self, key: Key, value: Value) -> Value:
        """Store and return ``value``."""
        if len(self) >= self.capacity:
            self.clear()
        self[key] = value
        return value

    def __reduce__(self) -> Any:
        """A cache travels empty."""
        return type(self), (self.capacity,)
