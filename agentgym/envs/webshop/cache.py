"""Built worlds on disk, under a user's cache folder: made once, mapped by every process."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from agentgym.caching import cache_folder
from agentgym.envs.webshop.world import World
from agentgym.errors import DataError

VERSION = 1
"""Raise it when the stored form, or anything that decides its content, changes."""

_log = logging.getLogger(__name__)


def cached(key: object, build: Callable[[], World]) -> World:
    """Open a stored world, or build and store it.

    A world is written to a folder of its own and renamed into place, so that concurrent writers
    cannot disturb each other; the first one wins. Without a writable cache the world stays in
    memory.

    Args:
        key: JSON value that decides the content.
        build: Makes the world.

    Returns:
        The world.
    """
    text = json.dumps([VERSION, key], sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    folder = cache_folder() / "webshop" / name
    if folder.is_dir():
        try:
            return World.open(folder)
        except DataError as error:
            _log.warning("building again: %s", error)
            shutil.rmtree(folder, ignore_errors=True)
    world = build()
    return World.open(folder) if _store(world, folder, text) else world


def _store(world: World, folder: Path, key: str) -> bool:
    """Write a world and move it into place; tell whether the folder then holds one."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as error:
        _log.info("no cache in %s (%s); the shop stays in memory", folder.parent, error)
        return False
    try:
        world.save(scratch)
        (scratch / "key.json").write_text(key)
        scratch.chmod(0o755)
        os.rename(scratch, folder)
    except OSError as error:
        if not folder.is_dir():
            _log.warning("cannot store the shop in %s (%s); it stays in memory", folder, error)
            return False
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True
