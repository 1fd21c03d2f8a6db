"""The engine: find Docker or Podman at the default paths and query its features."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.errors import DependencyNotInstalled, require
from agentgym.sandbox.base import SandboxUnavailable

PATIENCE = 180
"""Time limit of a request to the engine, in seconds: a busy one starts containers slowly."""
IDLE = 2
"""Number of addresses with open connections of the SDK; containers' are never reused."""
PLACES = (
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "{runtime}/docker.sock",
    "{runtime}/podman/podman.sock",
    "{home}/.docker/run/docker.sock",
)
"""Default paths of sockets, without ``DOCKER_HOST``."""

_engines: dict[tuple[int, str], DockerEngine] = {}
_lock = threading.Lock()


class DockerEngine:
    """A connection to an engine, shared by all sandboxes of a process.

    Args:
        address: The address of its socket, such as ``unix:///var/run/docker.sock``.

    Raises:
        SandboxUnavailable: No engine answers; the message gives the reason and the remedy.
        DependencyNotInstalled: The package ``docker`` is missing.
    """

    def __init__(self, address: str) -> None:
        docker = require("docker", "swe")
        self.address = address
        self.errors = docker.errors
        try:
            # TLS for tcp:// comes from DOCKER_TLS_VERIFY and DOCKER_CERT_PATH, as for the command.
            settings = {**docker.utils.kwargs_from_env(), "base_url": address}
            self.api: Any = docker.APIClient(
                **settings, version="auto", timeout=PATIENCE, num_pools=IDLE
            )
            self.info: Mapping[str, Any] = self.api.info()
            version: Mapping[str, Any] = self.api.version()
        except Exception as error:  # requests, urllib3 and the SDK have no common base class
            raise SandboxUnavailable(_unreachable(address, error)) from error
        parts = [str(part.get("Name", "")) for part in version.get("Components") or ()]
        self.is_podman = any("podman" in name.lower() for name in parts)
        """Whether it is Podman, which answers the same requests with small differences."""

    @property
    def is_local(self) -> bool:
        """Whether its socket is on this machine, so that it can mount folders of this machine."""
        return self.address.startswith("unix://") and sys.platform == "linux"

    @property
    def name(self) -> str:
        """Identifies the engine in records that outlive the process."""
        return str(self.info.get("ID") or self.address)

    def limits(self, name: str) -> bool:
        """Return whether it can enforce a limit, such as ``"MemoryLimit"`` or ``"PidsLimit"``."""
        return bool(self.info.get(name, True))


def find_engine(address: str = "") -> DockerEngine:
    """Return the engine at an address, or of ``DOCKER_HOST``, or at the default paths.

    Raises:
        SandboxUnavailable: There is no engine; the message lists the paths and the remedy.
        DependencyNotInstalled: The package ``docker`` is missing.
    """
    address = address or os.environ.get("DOCKER_HOST", "") or _usual_place()
    key = (os.getpid(), address)  # connections do not survive a fork
    with _lock:
        if key not in _engines:
            _engines[key] = DockerEngine(address)
        return _engines[key]


def probe_engine(address: str = "") -> str:
    """Return "" if an engine answers, otherwise the reason and the remedy."""
    try:
        find_engine(address)
    except (SandboxUnavailable, DependencyNotInstalled) as error:
        return str(error)
    return ""


def _usual_place() -> str:
    """Return the address of the first socket that exists."""
    home = os.path.expanduser("~")
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{getattr(os, 'getuid', int)()}"
    places = [place.format(home=home, runtime=runtime) for place in PLACES]
    socket_path = next((place for place in places if Path(place).is_socket()), None)
    if socket_path is None:
        raise SandboxUnavailable(
            f"expected the socket of Docker or Podman at one of {', '.join(places)}, but there is "
            "none; install an engine (Debian: apt-get install docker.io; without root: podman, "
            "then systemctl --user start podman.socket), or name its socket in DOCKER_HOST"
        )
    return f"unix://{socket_path}"


def _unreachable(address: str, error: Exception) -> str:
    """Explain why an engine does not answer, with the remedy."""
    problem = f"{type(error).__name__}: {str(error)[:300]}"
    if "PermissionError" in problem or "Permission denied" in problem:
        remedy = "let this user use it (usermod -aG docker USER, then log in again), or use Podman"
    elif "FileNotFoundError" in problem or "No such file" in problem:
        remedy = "see that DOCKER_HOST names the socket of a running engine"
    elif "refused" in problem:
        remedy = "start the engine (systemctl start docker, or dockerd)"
    else:
        remedy = "see that `docker info` works with the same DOCKER_HOST"
    return f"expected a Docker or Podman engine to answer at {address}, got {problem}; {remedy}"
