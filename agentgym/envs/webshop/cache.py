"""Built worlds on disk, under a user's cache folder: made once, mapped by every process."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from agentgym.caching import cache_folder, check_folder, save_folder
from agentgym.envs.webshop.engine.index import World
from agentgym.errors import DataError

VERSION = 2
"""Raise it when the stored form, or anything that decides its content, changes."""

_log = logging.getLogger(__name__)


def cached(key: object, build: Callable[[], World]) -> World:
    """Open a stored world, or build and store it.

    A world is believed only if every file of it has the size and SHA-256 with which it was written;
    a damaged one is built again. Without a writable cache the world stays in memory.

    Args:
        key: JSON value that decides the content.
        build: Makes the world.

    Returns:
        The world.
    """
    text = json.dumps([VERSION, key], sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    folder = cache_folder() / "webshop" / name
    stored = _open(folder)
    if stored is not None:
        return stored
    world = build()
    # What is stored now may be what another process wrote, or a damaged folder that stays because
    # the disk is read-only: it is checked like any other.
    return (_open(folder) if save_folder(folder, world.save) else None) or world


def _open(folder: Path) -> World | None:
    """Open a stored world; remove it if it is damaged."""
    if not os.path.isdir(folder):  # Path.is_dir raises where a parent cannot be read
        return None
    try:
        check_folder(folder)
        return World.open(folder)
    except DataError as error:
        _log.warning("building the shop again: %s", error)
        shutil.rmtree(folder, ignore_errors=True)
        return None
