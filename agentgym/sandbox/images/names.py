"""Names of images, in the normal form of the store and of registries."""

from __future__ import annotations

import re
from typing import NamedTuple

from agentgym.errors import DataError

HUB = "docker.io"
HUB_SERVER = "registry-1.docker.io"
"""The server of images of :data:`HUB`."""
_PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_FORM = re.compile(rf"{_PART}(?:/{_PART})*(?::[\w][\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?")
"""The part of a name after its registry [distribution: reference/regexp.go]."""
_SERVER = re.compile(r"[a-zA-Z0-9.-]+(?::\d+)?")


class Reference(NamedTuple):
    """The parts of a name."""

    server: str
    """Host of the registry, optionally with a port."""
    repository: str
    """Name within it."""
    version: str
    """Tag, or digest, which takes precedence."""


def canonical(name: str) -> str:
    """Return a name in the store's form: without the hub's parts, with a tag.

    ``docker.io/library/python`` and ``python`` are both ``python:latest``.

    Raises:
        DataError: It is not the name of an image.
    """
    server, path = _split(name)
    if not _FORM.fullmatch(path):
        raise DataError(
            "expected the name of an image such as swebench/sweb.eval.x86_64.a_1776_b-1:latest, "
            f"got {name!r:.200}"
        )
    if "@" not in path and ":" not in path:
        path += ":latest"
    return path.removeprefix("library/") if server == HUB else f"{server}/{path}"


def reference(name: str) -> Reference:
    """Return the registry, repository and tag of an image.

    Raises:
        DataError: It is not the name of an image.
    """
    server, path = _split(canonical(name))
    path, _, digest = path.partition("@")
    repository, _, tag = path.partition(":")
    if server == HUB and "/" not in repository:
        repository = f"library/{repository}"
    host = HUB_SERVER if server == HUB else server
    return Reference(host, repository, digest or tag or "latest")


def _split(name: str) -> tuple[str, str]:
    """Return the registry of a name and the rest."""
    first, _, path = name.strip().partition("/")
    named = "." in first or ":" in first or first == "localhost"
    if path and named and _SERVER.fullmatch(first):
        return (HUB if first in (HUB, f"index.{HUB}") else first), path
    return HUB, name.strip()
