"""Fail fast without a network: check once whether the Hugging Face hub can be reached."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

PATIENCE = 5.0
"""Time limit of a connection to the hub, in seconds."""
HUB = "https://huggingface.co"

_log = logging.getLogger(__name__)


@contextmanager
def asked_once() -> Iterator[None]:
    """Switch the libraries of the hub to offline mode while it cannot be reached.

    Otherwise they would retry five times with growing waits, half a minute in all, before they use
    what is on this machine.
    """
    is_offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    if is_offline or is_reachable():
        yield
        return
    _log.warning("the hub cannot be reached: only what was downloaded before can be loaded")
    switches = [
        (module, "HF_HUB_OFFLINE", getattr(module, "HF_HUB_OFFLINE"))  # noqa: B009 (of any module)
        for name in ("datasets.config", "huggingface_hub.constants")
        if hasattr(module := sys.modules.get(name), "HF_HUB_OFFLINE")
    ]
    try:
        _turn([(module, name, True) for module, name, _ in switches])
        yield
    finally:
        _turn(switches)


def is_reachable() -> bool:
    """Return whether the hub accepts a connection; with a proxy, this is assumed."""
    address = os.environ.get("HF_ENDPOINT") or HUB
    parts = urlsplit(address)
    if parts.scheme in getproxies():
        return True
    try:
        place = (parts.hostname or "", parts.port or {"http": 80}.get(parts.scheme, 443))
        socket.create_connection(place, PATIENCE).close()
    except (OSError, ValueError):
        return False
    return True


def _turn(switches: list[tuple[Any, str, bool]]) -> None:
    for module, name, value in switches:
        setattr(module, name, value)
