"""Small JSON files in the cache folder: written atomically, and thrown away when damaged."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from agentgym.caching import cache_folder

LARGEST = 64 << 20
"""Bytes of a cache file that are read at most."""

_log = logging.getLogger(__name__)


def cache_path(kind: str, key: str) -> Path:
    """Return where a file is kept.

    Args:
        kind: What it holds, for example ``"index"``.
        key: Text that decides its content.
    """
    name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return cache_folder() / "alfworld" / f"{kind}-{name}.json"


def load(path: Path, key: str) -> Any | None:
    """Read what :func:`save` wrote.

    Args:
        path: The file.
        key: The key under which it was saved.

    Returns:
        The value, or None if there is no such file, it is damaged or has another key.
    """
    try:
        if path.stat().st_size > LARGEST:
            return None
        content = json.loads(path.read_bytes())
        return content["value"] if content["key"] == key else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, KeyError, TypeError, IndexError) as error:
        _log.info("%s is damaged (%s) and will be made again", path, error)
        return None


def save(path: Path, key: str, value: Any) -> bool:
    """Write a JSON value, so that readers see the old file or the new one and never a part.

    Args:
        path: The file; its folder is made if need be.
        key: Text that decides the content; kept in the file.
        value: A JSON value.

    Returns:
        Whether it was stored; without a writable cache nothing is, which is no error.
    """
    scratch = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump({"key": key, "value": value}, file, separators=(",", ":"))
        os.replace(scratch, path)
        return True
    except OSError as error:
        _log.info("no cache in %s (%s)", path.parent, error)
        if scratch is not None:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
        return False


def remove(path: Path) -> None:
    """Remove a cache file, if it is there."""
    with contextlib.suppress(OSError):
        path.unlink()
