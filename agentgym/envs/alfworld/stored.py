"""JSON values in the cache folder, such as what reading thousands of files has told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentgym import caching
from agentgym.envs.alfworld.engine.game import digest


def cache_path(kind: str, name: str) -> Path:
    """Return where a value is kept.

    Args:
        kind: What it is, for example ``"index"``.
        name: Text that names it among values of its kind.
    """
    return caching.cache_folder() / "alfworld" / f"{kind}-{digest(name)[:24]}"


def load(path: Path, key: str) -> Any | None:
    """Read what :func:`save` stored; None if it is not there, damaged or of another key."""
    data = caching.load(path, key)
    return None if data is None else json.loads(data)


def save(path: Path, key: str, value: Any) -> bool:
    """Store a JSON value.

    Args:
        path: The file.
        key: Text that decides the value.
        value: The value.

    Returns:
        Whether it was stored; without a writable cache it is not, which is no error.
    """
    return caching.save(path, key, json.dumps(value, separators=(",", ":")).encode())
