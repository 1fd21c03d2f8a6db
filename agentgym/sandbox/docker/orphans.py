"""Find containers that outlived their owner by their labels, and remove them.

A container ends with its client, because its process 1 reads from the client's connection, and the
engine then removes it. Containers that remain, for instance because the engine was stopped in the
meantime, are removed when a process starts its first sandbox.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any

from agentgym.sandbox import owners
from agentgym.sandbox.docker.engine import DockerEngine

OWNER = "agentgym.owner"
"""Label for the process that created a container."""
RUNNING = ("running", "paused", "restarting")
PATIENCE, PAUSE = 10.0, 0.02
"""Time limit of the removal of a container, and interval between two checks, in seconds."""
YOUNG = 600.0
"""Seconds after which a created, but not started container counts as ended, if its owner cannot be
checked."""

_swept: set[tuple[int, str]] = set()
_lock = threading.Lock()
_log = logging.getLogger(__name__)


def labels() -> dict[str, str]:
    """Return the labels of the containers of this process."""
    return {OWNER: owners.this_process()}


def sweep_once(engine: DockerEngine) -> None:
    """Remove orphans, at a process's first call for an engine."""
    key = (os.getpid(), engine.name)
    with _lock:
        if key in _swept:
            return
        _swept.add(key)
    sweep(engine)


def sweep(engine: DockerEngine) -> list[str]:
    """Remove the containers of dead owners, and return their ids.

    An owner on another machine, or in another pid namespace, cannot be checked. Its running
    containers stay, because they end with their client; ended ones are removed.
    """
    removed = []
    containers = engine.api.containers(all=True, filters={"label": OWNER})
    current_time = time.time()
    for container in containers:
        owner = str((container.get("Labels") or {}).get(OWNER, ""))
        useless = owner != owners.this_process() and _is_orphaned(container, current_time)
        if (useless or owners.is_gone(owner)) and remove(engine, container["Id"]):
            removed.append(container["Id"])
            _log.info("removed the container %.12s of %s, which has ended", container["Id"], owner)
    return removed


def remove(engine: DockerEngine, container: str) -> bool:
    """Remove a container with its volumes; return whether it existed.

    If the engine is already removing it after its end, a second removal is refused: then wait.
    """
    end = time.monotonic() + PATIENCE
    existed = False
    while time.monotonic() < end:
        try:
            engine.api.remove_container(container, v=True, force=True)
            return True
        except engine.errors.NotFound:
            return existed
        except engine.errors.APIError as error:
            existed = True
            _log.debug("the container %.12s: %s", container, error)
        except OSError as error:  # the engine does not answer; a later sweep removes the container
            _log.info("the container %.12s is not removed: %s", container, error)
            return existed
        time.sleep(PAUSE)
    return existed


def _is_orphaned(container: dict[str, Any], current_time: float) -> bool:
    """Return whether a container cannot be in use any more."""
    state = container.get("State")
    if state == "created":
        return current_time - float(container.get("Created", current_time)) > YOUNG
    return state not in RUNNING
