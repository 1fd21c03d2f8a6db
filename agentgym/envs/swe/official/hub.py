"""A hub that cannot be reached is asked once, not for half a minute."""

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
"""Seconds within which the hub has to take a connection."""
HUB = "https://huggingface.co"

_log = logging.getLogger(__name__)


@contextmanager
def asked_once() -> Iterator[None]:
    """Let the libraries of the hub look only at what is on this machine, if it cannot be reached.

    Else they try again five times, each time after a longer wait, and then look there.
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
    """Return whether the hub takes a connection; where a proxy stands between, it may."""
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
